package charts_test

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/gpu-portal/gpu-portal/charts"
	"github.com/gpu-portal/gpu-portal/internal/kube"
	"github.com/gpu-portal/gpu-portal/internal/reconcile/reconciletest"
	"github.com/gpu-portal/gpu-portal/internal/tenant"
	"github.com/gpu-portal/gpu-portal/internal/waittest"
)

// thief has a stolen token of the portal's account.
type thief struct {
	t      *testing.T
	client kubernetes.Interface // with the token
	in     charts.Installed
	tenant string // a namespace that the portal has made and bound itself in
	prefix string // of tenants' namespaces
}

var dry = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// newThief installs the chart's rights and goes the portal's way up to a tenant's namespace; all of that must work.
func newThief(t *testing.T) (reconciletest.Devstack, thief) {
	d := reconciletest.NeedDevstack(t)
	prefix := d.Namespace(t)
	in := d.Rights(t, charts.Values{Instance: prefix, Names: []string{prefix + "*"}})
	client, err := kubernetes.NewForConfig(in.Config)
	if err != nil {
		t.Fatal(err)
	}
	f := thief{t, client, in, prefix, prefix}
	objects, err := kube.TenantAccess(tenant.Tenant{Name: "vision", Namespace: prefix}, kube.Site{Instance: prefix,
		Access: in.Access})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), objects[0].(*corev1.Namespace),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RbacV1().RoleBindings(prefix).Create(t.Context(), objects[1].(*rbacv1.RoleBinding),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "own"}}
	waittest.Until(t, "the portal's right to do its own work", func() error {
		_, err := client.CoreV1().Secrets(prefix).Create(t.Context(), secret, dry)
		return err
	})
	return d, f
}

// binding is a RoleBinding to somebody.
func binding(kind, role, account string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "mine"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "kube-system", Name: account}}}
}

// space is a namespace as the portal would label it, with changes.
func (f thief) space(name string, change func(labels map[string]string)) *corev1.Namespace {
	labels := map[string]string{"app.kubernetes.io/managed-by": "gpu-portal", "gpu-portal.github.io/instance": f.prefix,
		"pod-security.kubernetes.io/enforce": "restricted"}
	if change != nil {
		change(labels)
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func pod(account string) corev1.PodSpec {
	return corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "main", Image: "x"}}}
}

func set(spec corev1.PodSpec) *appsv1.StatefulSet {
	labels := map[string]string{"a": "b"}
	return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}}}
}

// attempt is one thing that somebody with the token tries.
type attempt struct {
	do func(ctx context.Context, c kubernetes.Interface) error
	// the API server's own rights refuse it; else the admission policy must
	role bool
}

// attempts are the takeover of a cluster step by step, and the ways around the rules that stop it.
func (f thief) attempts() map[string]attempt {
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "mine", Annotations: map[string]string{
		corev1.ServiceAccountNameKey: "clusterrole-aggregation-controller"}}, Type: corev1.SecretTypeServiceAccountToken}
	merge, patched := types.MergePatchType, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	foreign := func(change func(map[string]string)) func(context.Context, kubernetes.Interface) error {
		return func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Namespaces().Create(ctx, f.space(f.tenant+"-x", change), dry)
			return err
		}
	}
	named := func(name string) func(context.Context, kubernetes.Interface) error {
		return func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Namespaces().Create(ctx, f.space(name, nil), dry)
			return err
		}
	}
	label := func(namespace, patch string) func(context.Context, kubernetes.Interface) error {
		return func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Namespaces().Patch(ctx, namespace, merge, []byte(patch), patched)
			return err
		}
	}
	bind := func(namespace string, b *rbacv1.RoleBinding) func(context.Context, kubernetes.Interface) error {
		return func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.RbacV1().RoleBindings(namespace).Create(ctx, b, dry)
			return err
		}
	}
	run := func(namespace string, spec corev1.PodSpec) func(context.Context, kubernetes.Interface) error {
		return func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.AppsV1().StatefulSets(namespace).Create(ctx, set(spec), dry)
			return err
		}
	}
	makeSecret := func(namespace string, s *corev1.Secret) func(context.Context, kubernetes.Interface) error {
		return func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Secrets(namespace).Create(ctx, s, dry)
			return err
		}
	}
	own := binding("ClusterRole", f.in.Access.Role, "")
	own.Subjects = []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: strings.Split(f.in.Access.Account, ":")[2],
		Name: charts.Release + "-controller"}}
	return map[string]attempt{
		"read a Secret of kube-system": {role: true, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Secrets("kube-system").Get(ctx, "canary", metav1.GetOptions{})
			return err
		}},
		"list all Secrets": {role: true, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
			return err
		}},
		"a token of a controller in kube-system": {role: true, do: makeSecret("kube-system", token)},
		"a token in the tenant's namespace":      {do: makeSecret(f.tenant, token)},
		"a bootstrap token": {role: true, do: makeSecret("kube-system", &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-abcdef"}, Type: "bootstrap.kubernetes.io/token"})},
		"a token of an account": {role: true, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().ServiceAccounts("kube-system").CreateToken(ctx, "clusterrole-aggregation-controller",
				&authenticationv1.TokenRequest{}, dry)
			return err
		}},
		"a token of an account of the tenant's": {role: true, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().ServiceAccounts(f.tenant).CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, dry)
			return err
		}},
		"more rights for the own role": {role: true, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.RbacV1().ClusterRoles().Patch(ctx, f.in.Access.Role, merge,
				[]byte(`{"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}`), patched)
			return err
		}},
		"a binding everywhere": {role: true, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "mine"}, RoleRef: own.RoleRef, Subjects: own.Subjects}, dry)
			return err
		}},
		"the policy away": {role: true, do: func(ctx context.Context, c kubernetes.Interface) error {
			return c.AdmissionregistrationV1().ValidatingAdmissionPolicies().Delete(ctx, f.policy(),
				metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		}},
		"a label for kube-system": {do: label("kube-system",
			`{"metadata":{"labels":{"app.kubernetes.io/managed-by":"gpu-portal",`+
				`"gpu-portal.github.io/instance":"`+f.prefix+`","pod-security.kubernetes.io/enforce":"restricted"}}}`)},
		"a label for default": {do: label("default", `{"metadata":{"labels":{"a":"b"}}}`)},
		"a weaker Pod Security level for the tenant": {do: label(f.tenant,
			`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`)},
		"no Pod Security level for the tenant": {do: label(f.tenant,
			`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":null}}}`)},
		"a namespace of another name":   {do: named("somebody-elses")},
		"a namespace of the platform's": {do: named("kube-mine")},
		"the portal's own namespace":    {do: named(strings.Split(f.in.Access.Account, ":")[2])},
		"a namespace without our label": {do: foreign(func(l map[string]string) {
			delete(l, "app.kubernetes.io/managed-by")
		})},
		"a namespace of another portal's": {do: foreign(func(l map[string]string) {
			l["gpu-portal.github.io/instance"] = "other"
		})},
		"a privileged namespace": {do: foreign(func(l map[string]string) {
			l["pod-security.kubernetes.io/enforce"] = "privileged"
		})},
		"cluster-admin in kube-system": {role: true,
			do: bind("kube-system", binding("ClusterRole", "cluster-admin", "x"))},
		"cluster-admin in the tenant's namespace": {role: true,
			do: bind(f.tenant, binding("ClusterRole", "cluster-admin", "x"))},
		"the own role in kube-system":    {do: bind("kube-system", own)},
		"the own role in default":        {do: bind("default", own)},
		"the own role for somebody else": {do: bind(f.tenant, binding("ClusterRole", f.in.Access.Role, "x"))},
		"a pod in kube-system": {role: true, do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Pods("kube-system").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "mine"},
				Spec: pod("default")}, dry)
			return err
		}},
		"a workload in kube-system": {role: true,
			do: run("kube-system", pod("clusterrole-aggregation-controller"))},
		"a workload with another account's token": {do: run(f.tenant, pod("default"))},
		"a Service that takes over addresses": {do: func(ctx context.Context, c kubernetes.Interface) error {
			_, err := c.CoreV1().Services(f.tenant).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "mine"},
				Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, ExternalIPs: []string{"192.0.2.7"}}}, dry)
			return err
		}},
	}
}

func (f thief) policy() string {
	for _, o := range f.in.Objects {
		if o.GetKind() == "ValidatingAdmissionPolicy" {
			return o.GetName()
		}
	}
	f.t.Fatal("the chart renders no policy")
	return ""
}

// TestDevstackTakeoverFails (T-RBAC-1): with the portal's token nobody gets any further than tenants' namespaces. Each
// step is refused by the rights where they can tell, else by the admission policy.
func TestDevstackTakeoverFails(t *testing.T) {
	d, f := newThief(t)
	canary := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "canary"}, StringData: map[string]string{"a": "b"}}
	if _, err := d.Client.CoreV1().Secrets("kube-system").Create(t.Context(), canary,
		metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for name, a := range f.attempts() {
		err := a.do(t.Context(), f.client)
		switch {
		case err == nil:
			t.Errorf("%s: done", name)
		case a.role && !apierrors.IsForbidden(err):
			t.Errorf("%s: want Forbidden, got %v", name, err)
		case !a.role && !charts.PolicyRefused(err):
			t.Errorf("%s: want the policy to refuse it, got %v", name, err)
		}
	}
}

// beyondAdmission are steps that read, or that change what admission policies are not asked for: rights alone stop
// them.
var beyondAdmission = []string{"read a Secret of kube-system", "list all Secrets", "the policy away"}

// TestDevstackPolicyHoldsAlone: should somebody give the portal's account all rights there are, the policy still keeps
// what it writes to tenants' namespaces.
func TestDevstackPolicyHoldsAlone(t *testing.T) {
	d, f := newThief(t)
	all := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "all-of-" + f.prefix},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: strings.Split(f.in.Access.Account, ":")[2],
			Name: charts.Release + "-controller"}}}
	if _, err := d.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), all, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.Client.RbacV1().ClusterRoleBindings().Delete(context.Background(), all.Name, metav1.DeleteOptions{})
	})
	attempts := f.attempts()
	waittest.Until(t, "the rights", func() error { return attempts["list all Secrets"].do(t.Context(), f.client) })
	for _, name := range beyondAdmission {
		delete(attempts, name)
	}
	for name, a := range attempts {
		if err := a.do(t.Context(), f.client); !charts.PolicyRefused(err) {
			t.Errorf("%s: want the policy to refuse it, got %v", name, err)
		}
	}
}
