package start

import (
	"slices"

	"github.com/gpu-portal/gpu-portal/internal/secret"
	"github.com/gpu-portal/gpu-portal/internal/web/blocks"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	"github.com/gpu-portal/gpu-portal/views/start"
	"github.com/gpu-portal/gpu-portal/views/ui"
)

// secretsFields offer one's own secrets and those of the team, and a repository to clone; nil where there is none.
func (w *Pages) secretsFields(k page.Call, form blocks.StartForm, wrong func(string) string) (*start.ChoiceModel,
	*start.GitModel, error) {
	all, err := w.Secrets.Usable(k.Ctx, k.Actor, form.Tenant)
	if err != nil {
		return nil, nil, err
	}
	var choice *start.ChoiceModel
	if len(all) > 0 || wrong("secrets") != "" {
		choice = &start.ChoiceModel{Error: wrong("secrets")}
	}
	git := &start.GitModel{URL: start.FieldModel{Value: form.Git.URL, Error: wrong("git.url")},
		Ref:    start.FieldModel{Value: form.Git.Ref, Error: wrong("git.ref")},
		Secret: start.ChoiceModel{Value: form.Git.Secret, Error: wrong("git.secret")}}
	for _, s := range all {
		whose := k.Words.S("start.secret_own")
		if s.OfTeam() {
			whose = k.Words.S("start.secret_team")
		}
		option := ui.OptionModel{Value: s.Reference(), Label: s.Name, Test: "secret-" + s.Reference(),
			Hint:     k.Words.S("secrets.kind."+string(s.Kind)) + " · " + whose,
			Selected: slices.Contains(form.Secrets, s.Reference())}
		choice.Options = append(choice.Options, option)
		if s.Kind == secret.Git {
			option.Label, option.Hint, option.Selected = s.Name+" ("+s.About["host"]+", "+whose+")", "", false
			git.Secret.Options = append(git.Secret.Options, option)
		}
	}
	if w.Site().GitImage == "" && wrong("git.url") == "" {
		git = nil
	}
	return choice, git, nil
}
