package stub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// counters are what the model server tells of itself; the names are those of vLLM.
type counters struct {
	mu                    sync.Mutex
	running               int
	prompt, generated, ok float64
}

// modelFace answers as an OpenAI-style model server: routes and shapes of vLLM; the answers are the question again.
func modelFace(*Memory) http.Handler {
	mux := http.NewServeMux()
	healthy := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
	for _, path := range []string{"/health", "/ping", "/v2/health/live", "/v2/health/ready"} {
		mux.HandleFunc("GET "+path, healthy)
	}
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, http.StatusOK, map[string]string{"version": "0.19.1"})
	})
	mux.HandleFunc("GET /metrics", modelMetrics)
	mux.HandleFunc("GET /v1/models", needsKey(listModels))
	mux.HandleFunc("POST /v1/chat/completions", needsKey(chat))
	mux.HandleFunc("POST /v1/completions", needsKey(chat))
	mux.HandleFunc("/debug/echo", echo)
	return mux
}

func needsKey(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if key := workloadOf(r).APIKey; key != "" && r.Header.Get("Authorization") != "Bearer "+key {
			sendJSON(w, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
			return
		}
		next(w, r)
	}
}

func listModels(w http.ResponseWriter, r *http.Request) {
	sendJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{
		"id": workloadOf(r).Model, "object": "model", "owned_by": "vllm", "created": 1763700000, "max_model_len": 8192,
	}}})
}

// question is a chat or a completion request.
type question struct {
	Model   string `json:"model"`
	Stream  bool   `json:"stream"`
	Prompt  string `json:"prompt"`
	Options struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	} `json:"messages"`
}

func (q question) text() string {
	if len(q.Messages) == 0 {
		return q.Prompt
	}
	return fmt.Sprint(q.Messages[len(q.Messages)-1].Content)
}

func chat(w http.ResponseWriter, r *http.Request) {
	var q question
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&q); err != nil {
		sendError(w, http.StatusBadRequest, "BadRequestError", err.Error())
		return
	}
	load := workloadOf(r)
	if q.Model != "" && q.Model != load.Model {
		sendError(w, http.StatusNotFound, "NotFoundError", fmt.Sprintf("The model `%s` does not exist.", q.Model))
		return
	}
	done := load.requests.begin()
	words := append([]string{"You", "said:"}, strings.Fields(q.text())...)
	id := "chatcmpl-" + newID()
	legacy := strings.HasSuffix(r.URL.Path, "/v1/completions")
	if q.Stream {
		stream(w, r, id, load.Model, words, legacy, q.Options.Usage)
	} else {
		answer := strings.Join(words, " ")
		choice := map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant",
			"content": answer}}
		if legacy {
			choice = map[string]any{"index": 0, "finish_reason": "stop", "text": answer}
		}
		sendJSON(w, http.StatusOK, reply(id, object(legacy, ""), load.Model, []any{choice}, usageOf(words)))
	}
	done(len(words)-2, len(words))
}

// usageOf counts a word as a token.
func usageOf(words []string) map[string]int {
	return map[string]int{"prompt_tokens": len(words) - 2, "completion_tokens": len(words),
		"total_tokens": 2*len(words) - 2}
}

// stream sends one word per event, then what it took where that was asked for, and the end as OpenAI marks it.
func stream(w http.ResponseWriter, r *http.Request, id, model string, words []string, legacy, usage bool) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	control := http.NewResponseController(w)
	for i, word := range words {
		choice := map[string]any{"index": 0, "finish_reason": nil}
		if i == len(words)-1 {
			choice["finish_reason"] = "stop"
		} else {
			word += " "
		}
		if legacy {
			choice["text"] = word
		} else {
			choice["delta"] = map[string]string{"role": "assistant", "content": word}
		}
		text, err := json.Marshal(reply(id, object(legacy, ".chunk"), model, []any{choice}, nil))
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil {
			return
		}
		_ = control.Flush()
		select {
		case <-r.Context().Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	if usage {
		text, _ := json.Marshal(reply(id, object(legacy, ".chunk"), model, []any{}, usageOf(words)))
		_, _ = fmt.Fprintf(w, "data: %s\n\n", text)
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

func object(legacy bool, suffix string) string {
	if legacy {
		return "text_completion"
	}
	return "chat.completion" + suffix
}

func reply(id, object, model string, choices []any, usage any) map[string]any {
	answer := map[string]any{"id": id, "object": object, "created": time.Now().Unix(), "model": model,
		"choices": choices}
	if usage != nil {
		answer["usage"] = usage
	}
	return answer
}

func sendError(w http.ResponseWriter, code int, kind, message string) {
	sendJSON(w, code, map[string]any{"error": map[string]any{"message": message, "type": kind, "code": code}})
}

func (c *counters) begin() func(prompt, generated int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running++
	return func(prompt, generated int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running--
		c.ok++
		c.prompt += float64(prompt)
		c.generated += float64(generated)
	}
}

func modelMetrics(w http.ResponseWriter, r *http.Request) {
	load := workloadOf(r)
	c := &load.requests
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	for _, m := range []struct {
		name, kind, more string
		value            float64
	}{
		{"vllm:num_requests_running", "gauge", "", float64(c.running)},
		{"vllm:num_requests_waiting", "gauge", "", 0},
		{"vllm:kv_cache_usage_perc", "gauge", "", min(1, float64(c.running)*0.05)},
		{"vllm:prompt_tokens_total", "counter", "", c.prompt},
		{"vllm:generation_tokens_total", "counter", "", c.generated},
		{"vllm:request_success_total", "counter", `,finished_reason="stop"`, c.ok},
	} {
		fmt.Fprintf(w, "# TYPE %s %s\n%s{engine=\"0\",model_name=%q%s} %g\n", m.name, m.kind, m.name, load.Model, m.more,
			m.value)
	}
}
