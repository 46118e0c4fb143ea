package stub

import (
	"encoding/json"
	"html/template"
	"net/http"
	"strings"

	"github.com/gorilla/websocket"
)

// jupyterFace answers as a Jupyter server: the routes, statuses and the check of token and Origin are those of
// jupyter_server 2; the kernels only echo.
func jupyterFace(*Memory) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api", func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, http.StatusOK, map[string]string{"version": "2.17.0"})
	})
	mux.HandleFunc("GET /api/status", func(w http.ResponseWriter, r *http.Request) {
		sendJSON(w, http.StatusOK, workloadOf(r).jupyter.status())
	})
	mux.HandleFunc("GET /api/kernels", listKernels)
	mux.HandleFunc("POST /api/kernels", makeKernel)
	mux.HandleFunc("DELETE /api/kernels/{id}", func(w http.ResponseWriter, r *http.Request) {
		if !workloadOf(r).jupyter.remove(r.PathValue("id")) {
			sendJSON(w, http.StatusNotFound, map[string]string{"message": "Kernel does not exist: " + r.PathValue("id")})
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /api/kernels/{id}/channels", channels)
	for _, path := range []string{"/api/terminals", "/api/sessions"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, http.StatusOK, []string{}) })
	}
	mux.HandleFunc("GET /lab", page)
	mux.HandleFunc("GET /tree", page)
	mux.HandleFunc("GET /{$}", page)
	mux.HandleFunc("/debug/echo", echo)
	return underBase(withToken(mux))
}

// underBase serves only below the base URL and shows the rest of the path to the routes.
func underBase(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := workloadOf(r).BaseURL
		rest, ok := strings.CutPrefix(r.URL.Path, base)
		switch {
		case ok:
			clone := *r.URL
			clone.Path, clone.RawPath = "/"+rest, ""
			inner := r.Clone(r.Context())
			inner.URL = &clone
			next.ServeHTTP(w, inner)
		case r.URL.Path == "/" || r.URL.Path+"/" == base:
			http.Redirect(w, r, base, http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
}

// withToken lets in who knows the token: in the Authorization header, or in the query as Jupyter also allows. Only the
// version is open to all.
func withToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := workloadOf(r).Token
		given := r.Header.Get("Authorization")
		if token == "" || r.URL.Path == "/api" || given == "token "+token || given == "Bearer "+token ||
			r.URL.Query().Get("token") == token {
			next.ServeHTTP(w, r)
			return
		}
		sendJSON(w, http.StatusForbidden, map[string]any{"message": "Forbidden", "reason": nil})
	})
}

func listKernels(w http.ResponseWriter, r *http.Request) {
	n := &workloadOf(r).jupyter
	if r.URL.Query().Get("no_track_activity") == "" {
		n.touch()
	}
	sendJSON(w, http.StatusOK, n.list())
}

func makeKernel(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		Name string `json:"name"`
	}
	_ = json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&wanted)
	load := workloadOf(r)
	k := load.jupyter.add(first(wanted.Name, "python3"))
	w.Header().Set("Location", load.BaseURL+"api/kernels/"+k.ID)
	sendJSON(w, http.StatusCreated, k)
}

// upgrader refuses a handshake whose Origin is not its Host, as Jupyter does.
var upgrader = websocket.Upgrader{}

func channels(w http.ResponseWriter, r *http.Request) {
	n := &workloadOf(r).jupyter
	id := r.PathValue("id")
	if !n.connect(id, +1) {
		http.NotFound(w, r)
		return
	}
	defer n.connect(id, -1)
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		n.touch()
		if err := conn.WriteMessage(kind, message); err != nil {
			return
		}
	}
}

var pageTemplate = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Pod}} - JupyterLab</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}code{background:#eee;padding:.1em .3em}</style>
</head><body data-test="jupyter">
<h1>Notebook <code data-test="pod">{{.Pod}}</code></h1>
<p>This page stands in for JupyterLab. Nothing is computed here; what you send comes back.</p>
<dl><dt>Namespace</dt><dd data-test="namespace">{{.Namespace}}</dd><dt>Node</dt><dd data-test="node">{{.Node}}</dd></dl>
</body></html>
`))

func page(w http.ResponseWriter, r *http.Request) {
	load := workloadOf(r)
	load.jupyter.touch()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pageTemplate.Execute(w, load)
}

// echo shows what arrived, for tests of what a gateway adds and removes.
func echo(w http.ResponseWriter, r *http.Request) {
	sendJSON(w, http.StatusOK, map[string]any{
		"method": r.Method, "path": r.URL.Path, "query": r.URL.RawQuery, "host": r.Host, "headers": r.Header,
		"pod": workloadOf(r).Pod, "namespace": workloadOf(r).Namespace, "port": connOf(r).port,
	})
}

func sendJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}
