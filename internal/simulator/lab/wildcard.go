package lab

import (
	"strings"
	"unicode"
)

// isWildcard says whether PowerShell takes a text as a pattern: an unescaped *, ? or [ (errors.md 5).
func isWildcard(text string) bool {
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
		case r == '`':
			escaped = true
		case r == '*' || r == '?' || r == '[':
			return true
		}
	}
	return false
}

// unescape takes the backticks out of a text that is no pattern.
func unescape(text string) string {
	var out strings.Builder
	escaped := false
	for _, r := range text {
		if r == '`' && !escaped {
			escaped = true
			continue
		}
		escaped = false
		out.WriteRune(r)
	}
	return out.String()
}

// wildcardMatch compares as PowerShell does: *, ?, [set], ` escapes; case is ignored. A [ that nobody closes
// matches nothing.
func wildcardMatch(pattern, text string) bool {
	return matchRunes([]rune(pattern), []rune(text))
}

func matchRunes(pattern, text []rune) bool {
	for len(pattern) > 0 {
		switch pattern[0] {
		case '*':
			for i := 0; i <= len(text); i++ {
				if matchRunes(pattern[1:], text[i:]) {
					return true
				}
			}
			return false
		case '?':
			if len(text) == 0 {
				return false
			}
			pattern, text = pattern[1:], text[1:]
		case '[':
			end := 1
			for end < len(pattern) && pattern[end] != ']' {
				end++
			}
			if end == len(pattern) || len(text) == 0 || !inSet(pattern[1:end], text[0]) {
				return false
			}
			pattern, text = pattern[end+1:], text[1:]
		case '`':
			if len(pattern) > 1 {
				pattern = pattern[1:]
			}
			if len(text) == 0 || !sameRune(pattern[0], text[0]) {
				return false
			}
			pattern, text = pattern[1:], text[1:]
		default:
			if len(text) == 0 || !sameRune(pattern[0], text[0]) {
				return false
			}
			pattern, text = pattern[1:], text[1:]
		}
	}
	return len(text) == 0
}

func inSet(set []rune, r rune) bool {
	r = unicode.ToLower(r)
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			if unicode.ToLower(set[i]) <= r && r <= unicode.ToLower(set[i+2]) {
				return true
			}
			i += 2
			continue
		}
		if unicode.ToLower(set[i]) == r {
			return true
		}
	}
	return false
}

func sameRune(a, b rune) bool { return unicode.ToLower(a) == unicode.ToLower(b) }

// matchesAny says whether a text equals one of the exact values or fits one of the patterns.
func matchesAny(patterns []string, text string) bool {
	for _, pattern := range patterns {
		if isWildcard(pattern) {
			if wildcardMatch(pattern, text) {
				return true
			}
		} else if strings.EqualFold(unescape(pattern), text) {
			return true
		}
	}
	return false
}
