// Package config holds the settings: one struct, Config, filled by a file, then by PORTAL_* variables, then by flags.
// Zero values are usable. Load reports every problem at once and changes nothing.
//
// Each area has a struct of its own in a file of its name, with defaults in defaults and checks in its problems.
// Secrets come from files (ReadKey); masked.go prints settings without them. docs/configuration.md is generated from
// the comments by config/reference. Only app and cmd import this package.
package config
