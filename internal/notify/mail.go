package notify

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// MailServer is the site's own; the configuration names it, so it is reached without the guard.
type MailServer struct {
	Host     string
	Port     int
	From     string // address, or "Name <address>"
	Username string
	Password string
	TLS      string // starttls, tls, none
}

// Mails delivers by SMTP.
type Mails struct{ Server MailServer }

var policies = map[string][]gomail.Option{
	"starttls": {gomail.WithTLSPolicy(gomail.TLSMandatory)}, "tls": {gomail.WithSSL()},
	"none": {gomail.WithTLSPolicy(gomail.NoTLS)},
}

var page = template.Must(template.New("mail").Parse(
	`<!doctype html><html lang="{{.Language}}"><meta charset="utf-8"><title>{{.Title}}</title>` +
		`<body><h1>{{.Title}}</h1><p>{{.Body}}</p><p><a href="{{.Link}}">{{.Open}}</a></p><hr><p><small>{{.Footer}}</small></p></body></html>`))

// Send hands a mail to the server. The Message-ID is the same in each attempt.
func (s Mails) Send(ctx context.Context, m Message) error {
	message, err := s.message(m)
	if err != nil {
		return refusal{err}
	}
	options := append([]gomail.Option{gomail.WithPort(s.Server.Port), gomail.WithTimeout(sendFor)},
		policies[s.Server.TLS]...)
	if s.Server.Username != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.Server.Username),
			gomail.WithPassword(s.Server.Password))
	}
	client, err := gomail.NewClient(s.Server.Host, options...)
	if err != nil {
		return plainly(err, s.Server.Password)
	}
	err = client.DialAndSendWithContext(ctx, message)
	var answer *gomail.SendError
	if errors.As(err, &answer) && !answer.IsTemp() && answer.ErrorCode() >= 500 {
		err = refusal{err}
	}
	return plainly(err, s.Server.Password)
}

// message never lets what people are called become a header: addresses are parsed, names and titles are one line and
// encoded.
func (s Mails) message(m Message) (*gomail.Msg, error) {
	from, err := mail.ParseAddress(s.Server.From)
	if err != nil {
		return nil, newDeliveryError("the sender's address cannot be read", "notify.failed.sender")
	}
	to, err := mail.ParseAddress(m.To)
	if err != nil || strings.ContainsAny(m.To, "\r\n,<>") {
		return nil, newDeliveryError("the recipient's address cannot be read", "notify.failed.recipient")
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	message.FromMailAddress(from)
	message.ToMailAddress(&mail.Address{Name: oneLine(m.ToName, 80), Address: to.Address})
	message.Subject(oneLine(m.Title, 160))
	message.SetMessageIDWithValue(m.ID + "@" + domain)
	message.SetDateWithValue(m.At)
	message.SetBulk()
	message.SetBodyString(gomail.TypeTextPlain, strings.Join([]string{m.Title, "", m.Body, "", m.Open + ": " + m.Link, "",
		"-- ", m.Footer, ""}, "\n"))
	var html bytes.Buffer
	if err := page.Execute(&html, m.Notice); err != nil {
		return nil, err
	}
	message.AddAlternativeString(gomail.TypeTextHTML, html.String())
	return message, nil
}
