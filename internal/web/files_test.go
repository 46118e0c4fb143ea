package web_test

import (
	"bytes"
	"errors"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/web/webtest"
)

const filesOf = "/workloads/w-train-resnet/files"

// container answers each command with an output and an exit code: "0", or the code of a script.
func container(t *testing.T, w *webtest.World, answer func(command []string) (out, code string)) {
	t.Helper()
	execs(t, w, func(r *http.Request, conn *websocket.Conn) {
		conn.SetReadLimit(-1)
		for r.URL.Query().Get("stdin") == "true" { // all of it, before it is answered
			if _, m, err := conn.Read(r.Context()); err != nil || m[0] == 255 {
				break
			}
		}
		out, code := answer(r.URL.Query()["command"])
		_ = conn.Write(r.Context(), websocket.MessageBinary, []byte("\x01"+out))
		status := `{"status":"Success"}`
		if code != "0" {
			status = `{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"` +
				code + `"}]}}`
		}
		_ = conn.Write(r.Context(), websocket.MessageBinary, []byte("\x03"+status))
		_ = conn.Close(websocket.StatusNormalClosure, "")
	})
}

// sends a form with one file.
func sends(t *testing.T, w *webtest.World, p identity.Person, to, name, text string) *httptest.ResponseRecorder {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("file", name)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.Write([]byte(text))
	if err := errors.Join(form.Close()); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, to, &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	return w.Do(p, "en", r)
}

func recorded(w *webtest.World, kind audit.Kind) []audit.Event {
	return slices.DeleteFunc(w.Record(), func(e audit.Event) bool { return e.Kind != kind })
}

// TestADirectoryInThePage: names are links by their kind, with sizes and the way up, and names are text, whatever they
// say.
func TestADirectoryInThePage(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	container(t, w, func(command []string) (string, string) {
		if at := command[len(command)-2]; at != "/home/jovyan/<b>x" {
			t.Errorf("asked for %s", at)
		}
		return "41ed/4096/1767225600/./models\n81a4/1536/1767225600/./<script>alert(1)</script>\n" +
			"a1ff/6/1767225600/./latest\n1180/0/1767225600/./pipe\n", "0"
	})
	doc := read(t, w.Get(webtest.Anna, filesOf+"?path="+url.QueryEscape("/home/jovyan/<b>x")), http.StatusOK)
	wantText(t, doc, "files", "models/", "<script>alert(1)</script>", "1.5 KiB", "latest", "symbolic link",
		"special file")
	if href, _ := part(doc, "file-download").Attr("href"); href != filesOf+
		"/download?path=%2Fhome%2Fjovyan%2F%3Cb%3Ex%2F%3Cscript%3Ealert%281%29%3C%2Fscript%3E" {
		t.Errorf("the file leads to %s", href)
	}
	if href, _ := part(doc, "files-up").Attr("href"); href != filesOf+"?path=%2Fhome%2Fjovyan" {
		t.Errorf("up leads to %s", href)
	}
	if part(doc, "file-open").Length() != 2 || part(doc, "files-form").Length() != 1 {
		t.Error("want a directory and a link to open, and a form to upload")
	}
}

// TestAFileComesAsADownload: never as a page of the portal, whatever it is; and an error is an error.
func TestAFileComesAsADownload(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	code := "0"
	container(t, w, func([]string) (string, string) {
		if code != "0" {
			return "", code
		}
		return "26\n<script>alert(1)</script>\n", "0"
	})
	answer := w.Get(webtest.Anna, filesOf+"/download?path="+url.QueryEscape(`/tmp/a"b;ü.html`))
	h := answer.Header()
	if answer.Code != http.StatusOK || answer.Body.String() != "<script>alert(1)</script>\n" ||
		h.Get("Content-Type") != "application/octet-stream" || h.Get("Content-Length") != "26" ||
		h.Get("X-Content-Type-Options") != "nosniff" ||
		h.Get("Content-Disposition") != "attachment; filename*=UTF-8''a%22b%3B%C3%BC.html" {
		t.Errorf("got %d %v %q", answer.Code, h, answer.Body)
	}
	if events := recorded(w, audit.FileDownloaded); len(events) != 1 {
		t.Errorf("want it in the audit, got %v", events)
	}
	for c, status := range map[string]int{"63": 404, "64": 403, "65": 413, "68": 409, "127": 503} {
		code = c
		if got := w.Get(webtest.Anna, filesOf+"/download?path=/tmp/a").Code; got != status {
			t.Errorf("exit code %s: %d, want %d", c, got, status)
		}
	}
	if got := w.Get(webtest.Anna, filesOf+"/download?path=tmp").Code; got != http.StatusUnprocessableEntity &&
		got != http.StatusBadRequest {
		t.Errorf("a relative path: %d", got)
	}
}

// TestADirectoryComesAsAnArchive under its own name, and one that breaks off does not look whole.
func TestADirectoryComesAsAnArchive(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	code, text := "0", "2048\npacked"
	container(t, w, func([]string) (string, string) { return text, code })
	answer := w.Get(webtest.Anna, filesOf+"/archive?path="+url.QueryEscape(`/tmp/a"b/../ü x/`))
	h := answer.Header()
	if answer.Code != http.StatusOK || answer.Body.String() != "packed" || h.Get("Content-Length") != "" ||
		h.Get("Content-Type") != "application/octet-stream" || h.Get("X-Content-Type-Options") != "nosniff" ||
		h.Get("Content-Disposition") != "attachment; filename*=UTF-8''%C3%BC%20x.tar.gz" {
		t.Errorf("got %d %v %q", answer.Code, h, answer.Body)
	}
	if events := recorded(w, audit.FileDownloaded); len(events) != 1 {
		t.Errorf("want it in the audit, got %v", events)
	}
	text = ""
	for c, status := range map[string]int{"63": 404, "64": 403, "65": 413, "67": 409, "70": 403, "127": 503} {
		code = c
		if got := w.Get(webtest.Anna, filesOf+"/archive?path=/tmp/a").Code; got != status {
			t.Errorf("exit code %s: %d, want %d", c, got, status)
		}
	}
	code, text = "2", "2048\nhalf of it"
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // it is the value itself that is thrown
				t.Errorf("an archive that breaks off ends with %v", p)
			}
		}()
		w.Get(webtest.Anna, filesOf+"/archive?path=/tmp/a")
	}()
}

// TestAnUpload leads back to its directory, and says in the page what is wrong.
func TestAnUpload(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	code := "0"
	container(t, w, func(command []string) (string, string) {
		if strings.Contains(command[2], "cat >") {
			return "", code
		}
		return "", "0"
	})
	to := filesOf + "?path=/home/jovyan"
	answer := sends(t, w, webtest.Anna, to, "a.bin", strings.Repeat("x", 1000))
	if answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != filesOf+"?path=%2Fhome%2Fjovyan" {
		t.Errorf("got %d %s", answer.Code, answer.Header().Get("Location"))
	}
	if events := recorded(w, audit.FileUploaded); len(events) != 1 {
		t.Errorf("want it in the audit, got %v", events)
	}
	code = "66"
	doc := read(t, sends(t, w, webtest.Anna, to, "a.bin", "x"), http.StatusConflict)
	wantText(t, doc, "files-wrong", "A file of that name already exists")
	code = "0"
	doc = read(t, sends(t, w, webtest.Anna, to, "a.bin", strings.Repeat("x", 1<<20+1)), http.StatusRequestEntityTooLarge)
	wantText(t, doc, "files-wrong", "at most 1 MiB")
	r := httptest.NewRequest(http.MethodPost, to, strings.NewReader("no form"))
	if got := w.Do(webtest.Anna, "en", r).Code; got < 400 || got >= 500 {
		t.Errorf("no form: %d", got)
	}
}

// TestWhoHasFiles: page, download and upload are for the same people.
func TestWhoHasFiles(t *testing.T) {
	t.Parallel()
	w := webtest.Busy(t)
	container(t, w, func([]string) (string, string) { return "", "0" })
	for who, test := range map[string]struct {
		person identity.Person
		status int
	}{"a colleague": {webtest.Ben, http.StatusForbidden}, "an administrator": {webtest.Dora, http.StatusForbidden},
		"another team": {webtest.Olaf, http.StatusNotFound}} {
		for what, got := range map[string]int{"page": w.Get(test.person, filesOf).Code,
			"download": w.Get(test.person, filesOf+"/download?path=/tmp/a").Code,
			"upload":   sends(t, w, test.person, filesOf+"?path=/tmp", "a", "x").Code} {
			if got != test.status {
				t.Errorf("%s: the %s answers %d, want %d", who, what, got, test.status)
			}
		}
	}
	overview := read(t, w.Get(webtest.Anna, "/workloads/w-train-resnet"), http.StatusOK)
	if part(overview, "tab-files").Length() != 1 {
		t.Error("the owner has no tab")
	}
	doc := read(t, w.Get(webtest.Anna, "/workloads/w-old-notes/files"), http.StatusOK)
	wantText(t, doc, "terminal-not-running", "No files to show yet")
	wantAbsent(t, doc, "files-form")
}
