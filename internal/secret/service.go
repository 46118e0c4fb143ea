package secret

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gpu-portal/gpu-portal/internal/audit"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/registry"
	"github.com/gpu-portal/gpu-portal/internal/workload"
)

// Most is how many secrets one person or team may have.
const Most = 50

// Store keeps secrets. Faults: NotFound for what does not exist, Conflict for a name that is taken, Unavailable when
// the database is away.
type Store interface {
	Secret(ctx context.Context, id string) (Secret, error)
	// SecretsOf lists those of one owner, by name.
	SecretsOf(ctx context.Context, o Owner) ([]Secret, error)
	// SecretsAfter lists those of everybody in the order of their ids, after one of them.
	SecretsAfter(ctx context.Context, id string, limit int) ([]Secret, error)
	// WorkloadsWithSecrets lists the workloads of an owner that were asked for with secrets and have not ended.
	WorkloadsWithSecrets(ctx context.Context, o Owner) ([]workload.Workload, error)
	CreateSecret(ctx context.Context, s Secret, most int, event audit.Event) error
	// ReplaceSecret writes values and what describes them, and has the workloads with it rendered again.
	ReplaceSecret(ctx context.Context, s Secret, using []workload.Workload, event audit.Event) error
	// ResealSecret writes the sealed text alone; Conflict where the secret was changed since.
	ResealSecret(ctx context.Context, s Secret) error
	DeleteSecret(ctx context.Context, s Secret, using []workload.Workload, event audit.Event) error
	Person(ctx context.Context, id identity.PersonID) (identity.Person, error)
}

// Options are all needed but Logger.
type Options struct {
	Store Store
	Keys  Keyring
	Team  func(name string) bool // whether there is such a team
	// Client asks registries whether they take a password; it must call nothing inside. nil: none is asked.
	Client *http.Client
	Scheme string // of registries; https where empty
	Now    func() time.Time
	NewID  func(prefix string) string
	Logger *slog.Logger
}

// Service is safe for use by many goroutines.
type Service struct{ o Options }

// New makes the service.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{o: o}
}

// Listed is a secret with the workloads that have it.
type Listed struct {
	Secret
	Users []workload.Workload
}

// List gives the secrets of an owner by name: one's own, those of a team to its members, all to administrators.
// NotFound for others.
func (s *Service) List(ctx context.Context, a identity.Actor, o Owner) ([]Listed, error) {
	if err := s.permit(a, o, identity.ReadSecrets); err != nil {
		return nil, err
	}
	all, err := s.o.Store.SecretsOf(ctx, o)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	using, err := s.o.Store.WorkloadsWithSecrets(ctx, o)
	if err != nil {
		return nil, err
	}
	list := make([]Listed, len(all))
	for i, item := range all {
		list[i] = Listed{Secret: item, Users: having(using, item)}
	}
	return list, nil
}

// having are the workloads that have a secret and may have its values.
func having(all []workload.Workload, s Secret) []workload.Workload {
	var list []workload.Workload
	for _, w := range all {
		if !w.Over() && w.HasSecret(s.ID) && s.usableBy(w) {
			list = append(list, w)
		}
	}
	return list
}

// Usable gives what somebody may start something of a team with: their own secrets first, then those of the team.
func (s *Service) Usable(ctx context.Context, a identity.Actor, tenant string) ([]Secret, error) {
	if err := identity.Known(a); err != nil {
		return nil, err
	}
	list, err := s.o.Store.SecretsOf(ctx, Owner{Person: a.Person.ID})
	if err != nil || !identity.Can(a, identity.SubmitRequest, identity.Resource{Tenant: tenant}) {
		return list, err
	}
	ofTeam, err := s.o.Store.SecretsOf(ctx, Owner{Tenant: tenant})
	for _, item := range ofTeam {
		if item.Kind != Registry {
			list = append(list, item)
		}
	}
	return list, err
}

// Get gives one with the workloads that have it, to those who may change it.
func (s *Service) Get(ctx context.Context, a identity.Actor, id string) (Listed, error) {
	if err := identity.Known(a); err != nil {
		return Listed{}, err
	}
	item, err := s.o.Store.Secret(ctx, id)
	if err != nil {
		return Listed{}, err
	}
	if err := s.permit(a, item.Owner, identity.ManageSecrets); err != nil {
		return Listed{}, err
	}
	using, err := s.o.Store.WorkloadsWithSecrets(ctx, item.Owner)
	return Listed{Secret: item, Users: having(using, item)}, err
}

// MayManage reports whether the actor makes, replaces and deletes secrets of an owner.
func (s *Service) MayManage(a identity.Actor, o Owner) bool {
	return identity.Can(a, identity.ManageSecrets, o.Resource())
}

// permit: whose secrets somebody may not even read, has none for them.
func (s *Service) permit(a identity.Actor, o Owner, action identity.Action) error {
	if err := identity.Known(a); err != nil {
		return err
	}
	none := fault.New(fault.NotFound, i18n.T("secrets.not_found"))
	switch {
	case (o.Person == "") == (o.Tenant == ""), o.OfTeam() && !s.o.Team(o.Tenant),
		!identity.Can(a, identity.ReadSecrets, o.Resource()):
		return none
	case !identity.Can(a, action, o.Resource()):
		return fault.New(fault.Forbidden, i18n.T("secrets.not_yours"))
	}
	return nil
}

// Check says what is wrong with a draft, as Create and Replace would, and writes nothing. id is that of the secret
// whose values are replaced, "" for a new one.
func (s *Service) Check(ctx context.Context, a identity.Actor, o Owner, id string, d Draft) error {
	if id != "" {
		_, _, err := s.replacing(ctx, a, id, d)
		return err
	}
	_, err := s.creating(a, o, d)
	return err
}

func (s *Service) creating(a identity.Actor, o Owner, d Draft) (checked, error) {
	if err := s.permit(a, o, identity.ManageSecrets); err != nil {
		return checked{}, err
	}
	c, problems := d.check()
	if len(d.Kind.Fields()) > 0 && !slices.Contains(KindsFor(o), d.Kind) {
		problems = append(problems, fault.Field{Name: "kind", Reason: i18n.T("secrets.registry_team")})
	}
	if !names.MatchString(d.Name) {
		problems = append([]fault.Field{{Name: "name", Reason: i18n.T("secrets.name_wrong", "Most", MaxName)}},
			problems...)
	}
	if len(problems) > 0 {
		return c, fault.InvalidFields(problems)
	}
	return c, nil
}

// Create makes a secret. Conflict for a name that its owner has already, and for one too many.
func (s *Service) Create(ctx context.Context, a identity.Actor, o Owner, d Draft) (Secret, error) {
	d.Name = strings.TrimSpace(d.Name)
	c, err := s.creating(a, o, d)
	if err != nil {
		return Secret{}, err
	}
	if err := s.checkRegistry(ctx, d.Kind, c); err != nil {
		return Secret{}, err
	}
	item := Secret{Owner: o, ID: s.o.NewID("s-"), Name: d.Name, Kind: d.Kind, CreatedBy: a.Person.ID,
		CreatorName: a.Person.Name, CreatedAt: s.o.Now()}
	item.Env, item.Files = c.given(d.Kind)
	if item, err = s.filled(item, c); err != nil {
		return Secret{}, err
	}
	return item, s.o.Store.CreateSecret(ctx, item, Most, s.event(a, audit.SecretCreated, item))
}

// filled puts values into a secret.
func (s *Service) filled(item Secret, c checked) (Secret, error) {
	text, err := encode(c.values)
	if err == nil {
		item.Sealed, err = s.o.Keys.seal(item, text)
	}
	item.About = c.about
	if err != nil {
		return item, fmt.Errorf("seal a secret: %w", err)
	}
	return item, nil
}

// checkRegistry asks the registry of a pull secret. What it refuses is a problem of the password; one that does not
// answer is noted.
func (s *Service) checkRegistry(ctx context.Context, k Kind, c checked) error {
	if k != Registry {
		return nil
	}
	c.about[CheckedKey] = Unchecked
	if s.o.Client == nil {
		return nil
	}
	err := s.registries().SignIn(ctx, c.values["host"], registry.Account{User: c.values["user"],
		Password: c.values["password"]})
	switch {
	case errors.Is(err, registry.ErrRefused):
		return fault.InvalidFields([]fault.Field{{Name: "password", Reason: i18n.T("secrets.registry_refuses", "Host",
			c.values["host"])}})
	case err == nil:
		c.about[CheckedKey] = Accepted
	default:
		s.o.Logger.InfoContext(ctx, "a registry was not asked about a pull secret", "host", c.values["host"])
	}
	return nil
}

func (s *Service) registries() registry.Client {
	return registry.Client{HTTP: s.o.Client, Scheme: s.o.Scheme}
}

// Resolve asks a registry for the digest of an image's tag, with the team's pull secret where there is one for the
// registry. The errors of registry.Client.Resolve; registry.ErrSilent too where no registry may be asked.
func (s *Service) Resolve(ctx context.Context, team, reference string) (registry.Manifest, error) {
	if s.o.Client == nil {
		return registry.Manifest{}, registry.ErrSilent
	}
	ofTeam, err := s.o.Store.SecretsOf(ctx, Owner{Tenant: team})
	if err != nil {
		return registry.Manifest{}, err
	}
	var account registry.Account
	if item, ok := ForImage(ofTeam, reference); ok {
		text, err := s.o.Keys.open(item)
		if err != nil {
			return registry.Manifest{}, fmt.Errorf("open secret %s: %w", item.ID, err)
		}
		values, err := decode(text)
		if err != nil {
			return registry.Manifest{}, fmt.Errorf("read secret %s: %w", item.ID, errKey)
		}
		account = registry.Account{User: values["user"], Password: values["password"]}
	}
	return s.registries().Resolve(ctx, reference, account)
}

func (s *Service) replacing(ctx context.Context, a identity.Actor, id string, d Draft) (Listed, checked, error) {
	item, err := s.Get(ctx, a, id)
	if err != nil {
		return item, checked{}, err
	}
	d.Kind = item.Kind
	c, problems := d.check()
	if len(problems) == 0 {
		if env, files := c.given(d.Kind); !slices.Equal(env, item.Env) || !slices.Equal(files, item.Files) {
			field := d.Kind.Fields()[0].Name
			problems = append(problems, fault.Field{Name: field, Reason: i18n.T("secrets.other_names", "Names",
				strings.Join(slices.Concat(item.Env, onlyFiles(item.Kind, item.Files)), ", "))})
		}
	}
	if len(problems) > 0 {
		return item, c, fault.InvalidFields(problems)
	}
	return item, c, nil
}

// onlyFiles are the names of files where the kind has no variables.
func onlyFiles(k Kind, files []string) []string {
	if k == File {
		return files
	}
	return nil
}

// Replace gives a secret other values, in the same variables and files. Workloads that run have them in their files
// within a minute or so, in their variables with their next start.
func (s *Service) Replace(ctx context.Context, a identity.Actor, id string, values map[string]string) error {
	item, c, err := s.replacing(ctx, a, id, Draft{Values: values})
	if err != nil {
		return err
	}
	if err := s.checkRegistry(ctx, item.Kind, c); err != nil {
		return err
	}
	next, err := s.filled(item.Secret, c)
	if err != nil {
		return err
	}
	next.ReplacedAt = s.o.Now()
	return s.o.Store.ReplaceSecret(ctx, next, item.Users, s.event(a, audit.SecretReplaced, next))
}

// Delete deletes a secret, also from the workloads that have it.
func (s *Service) Delete(ctx context.Context, a identity.Actor, id string) error {
	item, err := s.Get(ctx, a, id)
	if err != nil {
		return err
	}
	return s.o.Store.DeleteSecret(ctx, item.Secret, item.Users, s.event(a, audit.SecretDeleted, item.Secret))
}

func (s *Service) event(a identity.Actor, kind audit.Kind, item Secret) audit.Event {
	event := audit.By(a, kind, s.o.Now())
	event.Tenant = item.Tenant
	event.Detail = i18n.T("secrets.audit", "Name", item.Name, "Kind", i18n.T("secrets.kind."+string(item.Kind)))
	return event
}

// Values are what a workload has of its secrets, by the keys of its Kubernetes Secret. A secret that was deleted, or
// whose owner the workload does not belong to any more, or is shut out, has none. An error changes nothing: what the
// workload has already stays.
func (s *Service) Values(ctx context.Context, w workload.Workload) (map[string][]byte, error) {
	data := map[string][]byte{}
	err := s.open(ctx, w, func(u workload.SecretUse, item Secret, values map[string]string) {
		c := deliver(item.Kind, values)
		for _, name := range u.Env {
			if value, ok := c.Env[name]; ok {
				data[u.EnvKey(name)] = []byte(value)
			}
		}
		for _, name := range u.Files {
			if value, ok := c.Files[name]; ok {
				data[u.FileKey(name)] = []byte(value)
			}
		}
	})
	return data, err
}

// Hidden are the texts that nobody may see in what a workload writes, the longest first.
func (s *Service) Hidden(ctx context.Context, w workload.Workload) ([]string, error) {
	var list []string
	err := s.open(ctx, w, func(_ workload.SecretUse, item Secret, values map[string]string) {
		list = append(list, deliver(item.Kind, values).seen(item.Kind, values)...)
	})
	slices.SortStableFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list, err
}

// open reads the secrets that a workload may have.
func (s *Service) open(ctx context.Context, w workload.Workload,
	each func(workload.SecretUse, Secret, map[string]string)) error {
	ownerIn := w.Owner != ""
	if len(w.OwnSecrets()) > 0 {
		p, err := s.o.Store.Person(ctx, w.Owner)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		ownerIn = err == nil && !p.Disabled
	}
	for _, u := range w.Secrets {
		item, err := s.o.Store.Secret(ctx, u.ID)
		switch {
		case fault.Is(err, fault.NotFound), err == nil && (!item.usableBy(w) || !item.OfTeam() && !ownerIn):
			continue
		case err != nil:
			return err
		}
		text, err := s.o.Keys.open(item)
		if err != nil {
			return fmt.Errorf("open secret %s: %w", u.ID, err)
		}
		values, err := decode(text)
		if err != nil {
			return fmt.Errorf("read secret %s: %w", u.ID, errKey) // the decoder's words may quote what it read
		}
		each(u, item, values)
	}
	return nil
}

const resealAtOnce = 100

// Reseal encrypts anew, with the present key, what was sealed with one before. One that cannot be opened does not stop
// the others.
func (s *Service) Reseal(ctx context.Context) error {
	var faults []error
	for last := ""; ; {
		page, err := s.o.Store.SecretsAfter(ctx, last, resealAtOnce)
		if err != nil || len(page) == 0 {
			return errors.Join(append(faults, err)...)
		}
		for _, item := range page {
			last = item.ID
			if s.o.Keys.Current(item.Sealed) {
				continue
			}
			if err := s.reseal(ctx, item); err != nil && !fault.Is(err, fault.Conflict) {
				faults = append(faults, fmt.Errorf("seal secret %s anew: %w", item.ID, err))
			}
		}
	}
}

func (s *Service) reseal(ctx context.Context, item Secret) error {
	text, err := s.o.Keys.open(item)
	if err != nil {
		return err
	}
	if item.Sealed, err = s.o.Keys.seal(item, text); err != nil {
		return err
	}
	return s.o.Store.ResealSecret(ctx, item)
}

// Conflicts are the variables that two of the secrets set, or a secret and the environment beside it: nothing says
// which would win. Two secrets of one name would have the same directory.
func Conflicts(uses []workload.SecretUse, env map[string]string) []i18n.Text {
	var problems []i18n.Text
	setBy, named := map[string]string{}, map[string]bool{}
	for _, u := range uses {
		if u.Hidden() {
			continue
		}
		if named[u.Name] {
			problems = append(problems, i18n.T("secrets.same_name", "Name", u.Name))
			continue
		}
		named[u.Name] = true
		for _, name := range u.Env {
			if other, taken := setBy[name]; taken {
				problems = append(problems, i18n.T("secrets.same_variable", "One", other, "Two", u.Name, "Variable", name))
				break
			}
		}
		for _, name := range u.Env {
			setBy[name] = u.Name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if by, taken := setBy[name]; taken {
			problems = append(problems, i18n.T("secrets.env_too", "Secret", by, "Variable", name))
		}
	}
	return problems
}
