package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxControlBody bounds a request to the control door.
const maxControlBody = 1 << 20

// badRequest is what the caller of the control door did wrong.
type badRequest struct{ error }

func badRequestf(format string, args ...any) error {
	return badRequest{fmt.Errorf(format, args...)}
}

// handler is the control door.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, answer func(*http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { respond(w, r, answer) })
	}
	handle("GET /state", func(*http.Request) (any, error) {
		state, err := s.lab.State()
		return json.RawMessage(state), err
	})
	handle("GET /journal", func(*http.Request) (any, error) { return s.lab.Journal(), nil })
	handle("GET /metrics", func(*http.Request) (any, error) { return s.Metrics(), nil })
	handle("POST /cmdlet", s.postCmdlet)
	handle("POST /faults", s.postFaults)
	handle("DELETE /faults", func(*http.Request) (any, error) {
		s.ClearFaults()
		return struct{}{}, nil
	})
	handle("POST /reset", func(*http.Request) (any, error) { return struct{}{}, s.Reset() })
	return mux
}

func respond(w http.ResponseWriter, r *http.Request, answer func(*http.Request) (any, error)) {
	w.Header().Set("Content-Type", "application/json")
	result, err := answer(r)
	var bad badRequest
	switch {
	case errors.As(err, &bad):
		w.WriteHeader(http.StatusBadRequest)
	case err != nil:
		w.WriteHeader(http.StatusInternalServerError)
	}
	if err != nil {
		result = map[string]string{"error": err.Error()}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(result) // the caller may be gone
}

// decode reads exactly one JSON value with no field that v lacks.
func decode(body io.Reader, v any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return badRequestf("request body: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badRequestf("request body: more than one JSON value")
	}
	return nil
}

func body(r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxControlBody))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, badRequestf("request body: larger than %d bytes", maxControlBody)
	}
	return b, err
}
