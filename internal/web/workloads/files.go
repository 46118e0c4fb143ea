package workloads

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/serve/problem"
	"github.com/gpu-portal/gpu-portal/internal/terminal"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/internal/workload"
	"github.com/gpu-portal/gpu-portal/views/ui"
	workloadview "github.com/gpu-portal/gpu-portal/views/workload"
)

// filesPath is the page of a directory, "" for the one to begin at, or what is below the page for a file.
func filesPath(id workload.ID, below, at string) string {
	to := page.WorkloadPath(id) + "/files" + below
	if at == "" {
		return to
	}
	return page.WithQuery(to, url.Values{"path": {at}})
}

// workloadFiles answers: what lies in it.
func (w *Pages) workloadFiles(k page.Call) (page.View, error) { return w.filesView(k, nil) }

// filesView lists a directory; wrong is why what was sent is not there, nil for nothing.
func (w *Pages) filesView(k page.Call, wrong error) (page.View, error) {
	s, err := w.details(k)
	if err != nil {
		return page.View{}, err
	}
	rules := w.Terminals.Rules()
	if err := rules.PermitFiles(k.Actor, s.Workload, k.Words.Now); err != nil {
		return page.View{}, err
	}
	m := workloadview.FilesModel{Path: k.Get("path"), Action: filesPath(s.ID, "", ""), Home: s.Image.Home,
		Most: k.Words.Bytes(rules.FileBytes), MostBytes: strconv.FormatInt(rules.FileBytes, 10),
		Replace: k.Get("replace") != "", State: terminalState(k.Words, s.Workload)}
	m.State.Files = true
	if m.State.State == "" {
		if err := w.listFiles(k, s.ID, &m); err != nil {
			return page.View{}, err
		}
	}
	if wrong != nil {
		m.Wrong = &ui.NoticeModel{Kind: ui.Danger, Title: sentence(k.Words, wrong), Test: "files-wrong"}
	}
	return w.workloadView(k, s, workloadview.Files, workloadview.PageModel{Files: m}), nil
}

// sentence is what an error says to people.
func sentence(say page.Words, err error) string {
	return problem.Of(err, say.Localizer, "").Detail
}

// listFiles reads the directory that the address names. What is wrong with it is said in the page, where another can be
// chosen.
func (w *Pages) listFiles(k page.Call, id workload.ID, m *workloadview.FilesModel) error {
	files, err := w.Terminals.OpenFiles(k.Ctx, k.Actor, id)
	if err != nil {
		if fault.Is(err, fault.Conflict) || fault.Is(err, fault.Unavailable) || fault.Is(err, fault.TooMany) {
			m.Wrong = &ui.NoticeModel{Kind: ui.Warning, Title: sentence(k.Words, err), Test: "files-wrong"}
			return nil
		}
		return err
	}
	defer files.Close()
	if m.Path == "" {
		m.Path = files.Home()
	}
	list, err := files.List(m.Path)
	if err != nil {
		m.Wrong = &ui.NoticeModel{Kind: ui.Warning, Title: sentence(k.Words, err), Test: "files-wrong"}
		if fault.Is(err, fault.Conflict) { // a symbolic link may lead to a file
			m.Wrong.Actions = []ui.ActionModel{{Link: &ui.LinkButtonModel{Label: k.Words.S("files.get"), Small: true,
				Href: filesPath(id, "/download", m.Path), Test: "files-get"}}}
		}
		return nil
	}
	m.Path, m.Listed = list.Path, true
	m.Upload, m.Archive = filesPath(id, "", list.Path), filesPath(id, "/archive", list.Path)
	if list.Path != "/" {
		m.Up = filesPath(id, "", path.Dir(list.Path))
	}
	if list.More {
		m.More = terminal.MostFiles
	}
	for _, f := range list.Files {
		m.Files = append(m.Files, fileModel(k.Words, id, list.Path, f))
	}
	return nil
}

func fileModel(say page.Words, id workload.ID, dir string, f terminal.File) workloadview.FileModel {
	m := workloadview.FileModel{Name: f.Name, Kind: string(f.Kind), Modified: say.At(f.Modified)}
	switch at := path.Join(dir, f.Name); f.Kind {
	case terminal.RegularFile:
		m.Size, m.Bytes = say.Bytes(f.Bytes), strconv.FormatInt(f.Bytes, 10)
		m.Download = filesPath(id, "/download", at)
	case terminal.Directory, terminal.Symlink:
		m.Open = filesPath(id, "", at)
	}
	return m
}

// fileDownload sends a file as it is: what a workload writes is nobody's page.
func (w *Pages) fileDownload(c echo.Context) error {
	k := w.CallOf(c)
	files, err := w.Terminals.OpenFiles(k.Ctx, k.Actor, workload.ID(c.Param("id")))
	if err != nil {
		return err
	}
	defer files.Close()
	return attach(c, path.Base(k.Get("path")), func(to io.Writer, start func(int64) error) error {
		return files.Read(k.Get("path"), to, func(bytes int64) error {
			c.Response().Header().Set(echo.HeaderContentLength, strconv.FormatInt(bytes, 10))
			return start(bytes)
		})
	})
}

// fileArchive sends a directory as a compressed tar, as it is packed.
func (w *Pages) fileArchive(c echo.Context) error {
	k := w.CallOf(c)
	files, err := w.Terminals.OpenFiles(k.Ctx, k.Actor, workload.ID(c.Param("id")))
	if err != nil {
		return err
	}
	defer files.Close()
	at, err := terminal.CleanPath(k.Get("path"))
	if err != nil {
		return err
	}
	name := path.Base(at)
	if name == "/" {
		name = "root"
	}
	return attach(c, name+".tar.gz", func(to io.Writer, start func(int64) error) error {
		return files.Archive(at, to, start)
	})
}

// attach sends what send writes as a file of a name. It never opens in the browser, and one that breaks off does not
// look whole there.
func attach(c echo.Context, name string, send func(to io.Writer, start func(bytes int64) error) error) error {
	err := send(slowly(c.Response()), func(int64) error {
		h := c.Response().Header()
		h.Set(echo.HeaderContentType, echo.MIMEOctetStream)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set(echo.HeaderContentDisposition, "attachment; filename*=UTF-8''"+url.PathEscape(name))
		c.Response().WriteHeader(http.StatusOK)
		return nil
	})
	if err != nil && c.Response().Committed {
		panic(http.ErrAbortHandler) // the browser has to see that the file is not whole
	}
	return err
}

// patience is how long a browser may take for one write or read of a file.
const patience = time.Minute

// slow gives each write and read of a file its own deadline.
type slow struct {
	http.ResponseWriter
	body       io.Reader
	controller *http.ResponseController
}

func slowly(w http.ResponseWriter) *slow {
	return &slow{ResponseWriter: w, controller: http.NewResponseController(w)}
}

func (s *slow) Write(p []byte) (int, error) {
	_ = s.controller.SetWriteDeadline(time.Now().Add(patience))
	return s.ResponseWriter.Write(p)
}

func (s *slow) Read(p []byte) (int, error) {
	_ = s.controller.SetReadDeadline(time.Now().Add(patience))
	return s.body.Read(p)
}

// mostUnread is how much is read of what is refused: a browser shows no answer before it has sent all.
const mostUnread = 64 << 20

// fileUpload takes one file into a directory, and answers with the page where something is wrong.
func (w *Pages) fileUpload(c echo.Context) error {
	k := w.CallOf(c)
	r := c.Request()
	body := slowly(c.Response())
	body.body = r.Body
	r.Body = io.NopCloser(body)
	name, err := w.receive(k, r)
	_ = body.controller.SetReadDeadline(time.Time{})
	if err == nil {
		return w.Done(c, "file-uploaded", filesPath(workload.ID(k.Get("id")), "", k.Get("path")), name)
	}
	v, failed := w.filesView(k, err)
	if failed != nil {
		return failed
	}
	_, _ = io.CopyN(io.Discard, r.Body, mostUnread)
	return w.Reply(c, k, w.filesPage(), v, problem.Of(err, k.Words.Localizer, "").Status)
}

// receive reads the form: a tick to replace, and behind it the file.
func (w *Pages) receive(k page.Call, r *http.Request) (string, error) {
	files, err := w.Terminals.OpenFiles(k.Ctx, k.Actor, workload.ID(k.Get("id")))
	if err != nil {
		return "", err
	}
	defer files.Close()
	form, err := r.MultipartReader()
	if err != nil {
		return "", fault.Wrap(fault.Invalid, err, i18n.T("files.cut_off"))
	}
	for {
		part, err := form.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return "", fault.New(fault.Invalid, i18n.T("files.name"))
		case err != nil:
			return "", fault.Wrap(fault.Invalid, err, i18n.T("files.cut_off"))
		case part.FormName() == "replace":
			k.Query.Set("replace", "true")
		case part.FormName() == "file":
			return files.Write(k.Get("path"), part.FileName(), k.Get("replace") != "", part)
		}
	}
}
