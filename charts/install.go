package charts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/gpu-portal/gpu-portal/internal/kube"
)

// Release is the name of an installed release.
const Release = "gpu-portal"

// rightsKinds are the kinds that say who may do what.
var rightsKinds = []string{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}

// Installed are the rights of a release in an API server.
type Installed struct {
	Access  kube.Access  // what the settings of the cluster say
	Config  *rest.Config // of the controller's service account
	Objects []*unstructured.Unstructured
}

// Values of a release that matter for its rights.
type Values struct {
	Instance  string   // "" for the default
	Names     []string // of tenants' namespaces; none for the default
	Bindings  string   // "" for the default
	Proxy     bool
	Terminal  bool
	Snapshots bool // of volumes
	NoLogs    bool // without the right to logs and events for the pages
}

func (v Values) text() (string, error) {
	config := map[string]any{"url": "https://gpu.example.org", "appsDomain": "apps.example.net",
		"oidc": map[string]any{"issuer": "https://login.example.org"}}
	rights := map[string]any{"proxy": v.Proxy, "logs": !v.NoLogs, "terminal": v.Terminal,
		"snapshots": v.Snapshots}
	if v.Instance != "" {
		config["instance"] = v.Instance
	}
	if len(v.Names) > 0 {
		config["tenantNamespaces"] = v.Names
	}
	if v.Bindings != "" {
		rights["bindings"] = v.Bindings
	}
	text, err := yaml.Marshal(map[string]any{"config": config, "rbac": rights})
	return string(text), err
}

// InstallRights gives a release its rights, as the chart renders them, in a namespace, and takes a token of its service
// account. It returns when the API server goes by them.
func InstallRights(ctx context.Context, admin *rest.Config, namespace string, v Values) (Installed, error) {
	values, err := v.text()
	if err != nil {
		return Installed{}, err
	}
	objects, err := Render(Release, namespace, values, nil)
	if err != nil {
		return Installed{}, err
	}
	in := Installed{}
	if in.Access, err = accessOf(objects); err != nil {
		return in, err
	}
	in.Objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return !slices.Contains(rightsKinds, o.GetKind())
	})
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return in, err
	}
	_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return in, err
	}
	if err := Apply(ctx, admin, in.Objects); err != nil {
		return in, err
	}
	if in.Config, err = as(ctx, admin, client, namespace, Release+"-controller"); err != nil {
		return in, err
	}
	return in, in.await(ctx)
}

// accessOf reads from the rendered settings how the chart's cluster comes by its rights.
func accessOf(objects []*unstructured.Unstructured) (kube.Access, error) {
	var settings struct {
		Clusters []struct{ Access kube.Access }
	}
	for _, o := range objects {
		if o.GetKind() == "ConfigMap" && o.GetName() == Release {
			text, _, _ := unstructured.NestedString(o.Object, "data", "portal.yaml")
			if err := yaml.Unmarshal([]byte(text), &settings); err != nil {
				return kube.Access{}, err
			}
		}
	}
	if len(settings.Clusters) == 0 {
		return kube.Access{}, errors.New("the chart's settings name no cluster")
	}
	return settings.Clusters[0].Access, nil
}

// AccountConfig is that of the controller's service account of a release in a namespace.
func AccountConfig(ctx context.Context, admin *rest.Config, namespace string) (*rest.Config, error) {
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return nil, err
	}
	return as(ctx, admin, client, namespace, Release+"-controller")
}

// tokenLife is longer than anything that runs with it.
const tokenLife = 365 * 24 * time.Hour

func as(ctx context.Context, admin *rest.Config, client kubernetes.Interface, namespace, account string) (*rest.Config,
	error) {
	life := int64(tokenLife / time.Second)
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &life}},
		metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("take a token of %s: %w", account, err)
	}
	config := rest.AnonymousClientConfig(admin)
	config.BearerToken = token.Status.Token
	return config, nil
}

// CheckAgent is the user agent of the calls by which InstallRights sees that the rights count; they are not the
// portal's.
const CheckAgent = "gpu-portal-rights-check"

// await waits until the API server goes by the role and by the policy, which it hears of by watches of its own. Both
// are asked with a namespace that only the policy refuses, and nothing is made.
func (in Installed) await(ctx context.Context) error {
	config := rest.CopyConfig(in.Config)
	config.UserAgent = CheckAgent
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		_, listed := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
		_, made := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: "not-a-tenant-of-the-portal"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		refused := PolicyRefused(made) || apierrors.IsForbidden(made) && in.Access.Bindings == kube.BindAdmin
		if listed == nil && refused {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the rights do not count: list nodes: %w, make a namespace: %w", orNil(listed), orNil(made))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// PolicyRefused tells a refusal of the admission policy from one of RBAC, which is Forbidden.
func PolicyRefused(err error) bool {
	return apierrors.IsInvalid(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
}

func orNil(err error) error {
	if err == nil {
		return errors.New("allowed")
	}
	return err
}

// Apply makes objects or brings them to what they should be, as the one who installs.
func Apply(ctx context.Context, admin *rest.Config, objects []*unstructured.Unstructured) error {
	return each(admin, objects, func(o *unstructured.Unstructured, resource dynamic.ResourceInterface) error {
		body, err := json.Marshal(o.Object)
		if err != nil {
			return err
		}
		force := true
		_, err = resource.Patch(ctx, o.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "helm",
			Force: &force})
		return err
	})
}

// Remove deletes objects; what is gone already is no error.
func Remove(ctx context.Context, admin *rest.Config, objects []*unstructured.Unstructured) error {
	return each(admin, objects, func(o *unstructured.Unstructured, resource dynamic.ResourceInterface) error {
		err := resource.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

func each(admin *rest.Config, objects []*unstructured.Unstructured,
	do func(*unstructured.Unstructured, dynamic.ResourceInterface) error) error {
	client, err := dynamic.NewForConfig(admin)
	if err != nil {
		return err
	}
	typed, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(typed.Discovery())
	if err != nil {
		return err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, o := range objects {
		mapping, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
		if err != nil {
			return err
		}
		var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			resource = client.Resource(mapping.Resource).Namespace(o.GetNamespace())
		}
		if err := do(o, resource); err != nil {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// Kubeconfig writes a configuration as a file for programs.
func Kubeconfig(c *rest.Config) ([]byte, error) {
	file := clientcmdapi.NewConfig()
	file.Clusters["main"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData,
		CertificateAuthority: c.CAFile}
	file.AuthInfos["portal"] = &clientcmdapi.AuthInfo{Token: c.BearerToken}
	file.Contexts["main"] = &clientcmdapi.Context{Cluster: "main", AuthInfo: "portal"}
	file.CurrentContext = "main"
	return clientcmd.Write(*file)
}
