package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// MaxGuestAnswer bounds the base64 text that a guest may answer one segment of calls with.
const MaxGuestAnswer = 8 << 20

// UnmarshalJSON decodes a reply and puts the results of guests where their calls stand.
func (r *Reply) UnmarshalJSON(data []byte) error {
	var raw struct {
		Groups  [][]entry     `json:"groups"`
		Failure *CommandError `json:"failure"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*r = Reply{Failure: raw.Failure, Groups: make([][]Result, 0, len(raw.Groups))}
	for _, entries := range raw.Groups {
		results := make([]Result, 0, len(entries))
		for i, e := range entries {
			if e.Guest == nil {
				results = append(results, e.Result)
				continue
			}
			results = append(results, guestResults(*e.Guest, e.Calls, i == len(entries)-1)...)
		}
		r.Groups = append(r.Groups, results)
	}
	return nil
}

// entry is a plain result or what a guest answered for several calls.
type entry struct {
	Result
	Guest *string `json:"guest"`
	Calls int     `json:"calls"`
}

// guestResults decodes a guest's answer for calls calls. A guest is not trusted: an answer that is
// no valid text, or has the wrong number of results, becomes an error for each of its calls, so
// that the results of the calls behind them stay where they belong.
func guestResults(answer string, calls int, last bool) []Result {
	results, err := parseGuestAnswer(answer)
	switch {
	case err != nil:
	case len(results) > calls:
		err = fmt.Errorf("%d results for %d calls", len(results), calls)
	case len(results) == 0 && calls > 0, len(results) < calls && !last:
		err = fmt.Errorf("only %d results for %d calls", len(results), calls)
	}
	if err == nil {
		return results
	}
	bad := Result{Errors: []CommandError{{
		ID:       ErrorGuestAnswer,
		Category: "InvalidData",
		Message:  "The guest's answer cannot be used: " + err.Error() + ".",
	}}}
	results = make([]Result, max(calls, 1))
	for i := range results {
		results[i] = bad
	}
	return results
}

func parseGuestAnswer(answer string) ([]Result, error) {
	if len(answer) > MaxGuestAnswer {
		return nil, fmt.Errorf("%d characters, the limit is %d", len(answer), MaxGuestAnswer)
	}
	text, err := base64.StdEncoding.DecodeString(answer)
	if err != nil {
		return nil, err
	}
	var parsed struct {
		Results []Result `json:"results"`
	}
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, err
	}
	for _, result := range parsed.Results {
		for i := range result.Errors {
			// Only the host can say that the session itself failed.
			result.Errors[i].Session, result.Errors[i].Started = false, false
		}
	}
	return parsed.Results, nil
}
