package api

import (
	"context"
	"math"

	"github.com/gpu-portal/gpu-portal/internal/catalog"
	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
	"github.com/gpu-portal/gpu-portal/internal/request"
	"github.com/gpu-portal/gpu-portal/internal/sizing"
)

// SizingBody is what somebody says of their work. Everything may be left out.
type SizingBody struct {
	Tenant    string  `json:"tenant,omitempty" maxLength:"63" doc:"For which team; the caller's first one when absent"`
	Work      string  `json:"work,omitempty" enum:"explore,train,fine-tune,inference,render,test" doc:"explore when absent"`
	Sharing   string  `json:"sharing,omitempty" enum:"alone,team,tenants" doc:"Who else may be on the card; team when absent"`
	Lease     string  `json:"lease,omitempty" maxLength:"32" example:"8h"`
	MemoryGiB float64 `json:"memoryGiB,omitempty" minimum:"0" doc:"GPU memory, where it is known; counts before model and parameters"`
	Model     string  `json:"model,omitempty" maxLength:"100" example:"Llama 3.1 8B" doc:"One of the models that the portal knows"`
	Billions  float64 `json:"billions,omitempty" minimum:"0" doc:"Parameters, in billions"`
	Precision string  `json:"precision,omitempty" enum:"fp32,fp16,int8,int4" doc:"Of the weights; fp16 when absent"`
	Tokens    int     `json:"tokens,omitempty" minimum:"0" doc:"Context of a sequence; 4096 when absent"`
	Latency   bool    `json:"latency,omitempty" doc:"Responses must come in a steady time"`
	Platform  string  `json:"platform,omitempty" enum:"bare-metal,kvm,vsphere,cloud,edge" doc:"What the nodes run on; then the answer ranks the technologies there"`
	Batch     int     `json:"batch,omitempty" minimum:"0" doc:"Sequences at once; 1 when absent"`
}

// Answers are the same values that the page's form gives.
func (b SizingBody) Answers() (sizing.Answers, error) {
	a := sizing.Answers{Work: sizing.Work(b.Work), Sharing: sizing.Sharing(b.Sharing), MemoryGiB: b.MemoryGiB,
		Model: b.Model, Billions: b.Billions, Precision: sizing.Precision(b.Precision),
		Tokens: b.Tokens, Batch: b.Batch, Latency: b.Latency, Platform: sizing.Platform(b.Platform)}
	if b.Lease == "" {
		return a, nil
	}
	lease, err := catalog.ParseDuration(b.Lease)
	if err != nil {
		return a, fault.InvalidFields([]fault.Field{{Name: "lease", Reason: i18n.T("sizing.lease")}})
	}
	a.Lease = lease
	return a, nil
}

// Sizing is the answer.
type Sizing struct {
	Estimate  Estimate   `json:"estimate"`
	Proposals []Proposal `json:"proposals" doc:"The best first"`
	Nothing   string     `json:"nothing,omitempty" doc:"Why no size will do"`
	Remarks   []string   `json:"remarks" doc:"When not to share, and what else is worth knowing"`
	Ways      []Way      `json:"ways,omitempty" doc:"With a platform: the technologies there, the best first"`
}

// Way is one technology on a platform.
type Way struct {
	Technology string   `json:"technology" enum:"full,passthrough,mig,vgpu,time-slicing,mps,dra"`
	Name       string   `json:"name"`
	Fitness    string   `json:"fitness" enum:"recommended,possible,unsuited" doc:"unsuited: not there on the platform, or wrong for the work"`
	Reasons    []string `json:"reasons"`
	Source     string   `json:"source" doc:"Where what is said of the platform is documented"`
}

// Estimate is how much GPU memory the work needs.
type Estimate struct {
	GiB   float64        `json:"gib"`
	GB    float64        `json:"gb" doc:"The same in units of 10^9 bytes"`
	Given bool           `json:"given" doc:"Told or usual, not computed"`
	Parts []EstimatePart `json:"parts"`
}

// EstimatePart is one summand.
type EstimatePart struct {
	What    string  `json:"what"`
	Formula string  `json:"formula" doc:"With the numbers filled in"`
	GiB     float64 `json:"gib"`
}

// Proposal is a size and why.
type Proposal struct {
	Size         string   `json:"size"`
	Title        string   `json:"title" doc:"In the language of the answer"`
	MemoryGiB    float64  `json:"memoryGiB"`
	Isolation    string   `json:"isolation" enum:"hard,memory,none,unknown"`
	PricePerHour Money    `json:"pricePerHour"`
	Capacity     Capacity `json:"capacity"`
	StartsNow    bool     `json:"startsNow"`
	Problem      string   `json:"problem,omitempty" doc:"Why it cannot be asked for now"`
	Reasons      []string `json:"reasons"`
	Beware       []string `json:"beware"`
}

type sizingInput struct {
	Body SizingBody `required:"false"`
}

func (a *API) sizing(ctx context.Context, actor identity.Actor, in *sizingInput) (*output[Sizing], error) {
	answers, err := in.Body.Answers()
	if err != nil {
		return nil, err
	}
	name := in.Body.Tenant
	if names := actor.TenantNames(); name == "" && len(names) > 0 {
		name = names[0]
	}
	advice, err := a.deps.Offers.Advise(ctx, actor, name, answers)
	if err != nil {
		return nil, err
	}
	return reply(sizingView(advice, i18n.From(ctx)), nil)
}

func sizingView(adv sizing.Advice, l *i18n.Localizer) Sizing {
	v := Sizing{Estimate: estimateView(adv.Estimate, l),
		Proposals: []Proposal{}, Nothing: l.Say(adv.Nothing), Remarks: sayAll(adv.Remarks, l)}
	for _, w := range adv.Ways {
		v.Ways = append(v.Ways, Way{Technology: string(w.Technology), Name: l.Say(catalog.TechnologyWord(w.Technology)),
			Fitness: string(w.Fitness), Reasons: sayAll(w.Reasons, l), Source: w.Source})
	}
	for _, p := range adv.Proposals {
		o := request.Offer{Size: p.Offer.Size, Fit: p.Offer.Fit}
		v.Proposals = append(v.Proposals, Proposal{Size: o.Size.Name, Title: o.Size.TitleIn(l.Lang()),
			MemoryGiB: o.Size.Accelerator.MemoryGiB, Isolation: string(o.Size.Isolation),
			PricePerHour: money(o.Size.PricePerHour),
			Capacity:     Capacity{Known: o.Fit.Known, Total: o.Fit.Total, Free: o.Fit.Free}, StartsNow: p.Offer.Now,
			Problem: l.Say(p.Offer.Problem), Reasons: sayAll(p.Reasons, l), Beware: sayAll(p.Beware, l)})
	}
	return v
}

func sayAll(texts []i18n.Text, l *i18n.Localizer) []string {
	list := []string{}
	for _, t := range texts {
		list = append(list, l.Say(t))
	}
	return list
}

func hundredths(v float64) float64 { return math.Round(v*100) / 100 }
