package workload

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gpu-portal/gpu-portal/internal/fault"
	"github.com/gpu-portal/gpu-portal/internal/i18n"
	"github.com/gpu-portal/gpu-portal/internal/identity"
)

// S3Kind is the kind of a secret that opens object storage.
const S3Kind = "s3"

// Bucket is object storage that a data set is copied from whenever a pod of the workload begins. The zero value is
// none.
type Bucket struct {
	URL    string `json:"url"`              // s3://BUCKET[/PREFIX]
	Secret string `json:"secret,omitempty"` // id of the team's S3 secret
	Image  string `json:"image,omitempty"`  // with rclone, of the site
}

// Copied reports whether the data set is copied to the node's disk.
func (m Mount) Copied() bool { return m.Bucket.URL != "" }

// Within is bucket and prefix without the scheme.
func (b Bucket) Within() string { return strings.TrimPrefix(b.URL, bucketScheme) }

// CopyContainer is the init container that copies the data set of the mount with that index.
func CopyContainer(mount int) string { return "dataset-" + strconv.Itoa(mount) }

const (
	bucketScheme = "s3://"
	maxBucketURL = 500 // characters
)

// bucketName is what S3 allows, with the underscore and capitals of older buckets.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$`)

// ValidBucket reports whether a text names a bucket, and what in it: "s3://corpus/2026/clean".
func ValidBucket(text string) bool {
	within, is := strings.CutPrefix(text, bucketScheme)
	name, prefix, _ := strings.Cut(within, "/")
	return is && utf8.ValidString(text) && utf8.RuneCountInString(text) <= maxBucketURL && bucketName.MatchString(name) &&
		!strings.ContainsFunc(prefix, unicode.IsControl) && (prefix == "" || ValidSubPath(prefix))
}

// bucketSource is a bucket that a draft names.
func (s *Service) bucketSource(ctx context.Context, sharing Sharing, in DatasetDraft) (DatasetSource, []fault.Field,
	error) {
	at := DatasetSource{Bucket: strings.TrimSuffix(in.Bucket, "/"), Secret: in.Secret, GiB: in.GiB}
	var fields []fault.Field
	problem := func(name string, reason i18n.Text) { fields = append(fields, fault.Field{Name: name, Reason: reason}) }
	if sharing.BucketImage == "" {
		problem("bucket", i18n.T("dataset.bucket_off"))
	}
	if !ValidBucket(at.Bucket) {
		problem("bucket", i18n.T("dataset.bucket_wrong", "Example", "s3://corpus/2026"))
	}
	if in.SubPath != "" {
		problem("subPath", i18n.T("dataset.bucket_sub_path"))
	}
	if at.GiB < 1 || at.GiB > sharing.MostGiB {
		problem("gib", i18n.T("volume.size_wrong", "Most", sharing.MostGiB))
	}
	uses, err := s.teamSecrets(ctx, in.Team)
	if err != nil {
		return at, nil, err
	}
	if !slices.ContainsFunc(uses, func(u SecretUse) bool { return u.Name == at.Secret }) {
		problem("secret", i18n.T("dataset.bucket_secret"))
	}
	return at, fields, nil
}

// BucketSecrets are the names of the team's secrets that can open a bucket, for those who may offer it.
func (s *Service) BucketSecrets(ctx context.Context, a identity.Actor, team string) ([]string, error) {
	if err := s.permitTeam(a, team, identity.ChangeAssets); err != nil {
		return nil, err
	}
	uses, err := s.teamSecrets(ctx, team)
	var names []string
	for _, u := range uses {
		names = append(names, u.Name)
	}
	return names, err
}

// teamSecrets are those of kind S3.
func (s *Service) teamSecrets(ctx context.Context, team string) ([]SecretUse, error) {
	if s.TeamSecrets == nil {
		return nil, nil
	}
	uses, err := s.TeamSecrets(ctx, team)
	return slices.DeleteFunc(uses, func(u SecretUse) bool { return u.Kind != S3Kind }), err
}
