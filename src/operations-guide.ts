// Parts of the operations guide, for people who run the service. Staff read them as pages below /docs/operations, and
// `ringback guide` prints them, so that the executable alone is enough.

import { readShippedFile } from "./shipped-files.ts";

const PARTS = [
	{ name: "install", label: "Install", use: "install on Debian, other Linux or in containers" },
	{ name: "first-hour", label: "The first hour", use: "get ready for real shops" },
	{ name: "proxy", label: "Behind a proxy", use: "use nginx, Caddy or HAProxy" },
	{ name: "postgresql", label: "PostgreSQL", use: "set up the database, several processes, PgBouncer" },
	{ name: "move", label: "Move to PostgreSQL", use: "leave SQLite" },
	{ name: "failover", label: "PostgreSQL failover", use: "follow the primary, and rehearse it" },
	{ name: "upgrade", label: "Upgrade and restart", use: "change the version" },
	{ name: "backups", label: "Backups", use: "save and restore a SQLite file" },
	{ name: "postgresql-backups", label: "Backups of PostgreSQL", use: "dump, archive, go back" },
	{ name: "after-restore", label: "After a restore", use: "start again, and pay nothing twice" },
	{ name: "callbacks", label: "Hold and resend callbacks", use: "stop sending, or send failed ones again" },
	{ name: "sealing-key", label: "The sealing key", use: "replace it, above all when it leaked" },
	{ name: "watching", label: "Watching", use: "set up health checks, alert rules, dashboard, logs" },
	{ name: "metrics", label: "Metrics", use: "look up a series" },
	{ name: "incidents", label: "Incidents", use: "react to an alert" },
	{ name: "people", label: "People and access", use: "invite people, end access" },
	{ name: "company-sign-in", label: "Company sign-in", use: "use an identity provider" },
	{ name: "personal-data", label: "Personal data", use: "answer a request for access or erasure" },
	{ name: "payouts", label: "Paying partners", use: "issue statements, record payments" },
	{ name: "import", label: "Import", use: "move here from other software" },
	{ name: "sizing", label: "Sizing", use: "plan machines" },
	{ name: "limits", label: "Limits and retention", use: "look up a limit" },
	{ name: "settings", label: "Every setting", use: "look up a setting" },
] as const;

/** The parts in reading order. `use` says what a part is for, and `file` is the path in the repository. */
export const GUIDE_PARTS = PARTS.map((part) => ({ ...part, file: `docs/operations/${part.name}.md` }));

export type GuidePart = (typeof GUIDE_PARTS)[number];

export const GUIDE_START = { name: "", label: "Operations guide", file: "docs/operations.md" } as const;

export type GuideFile = GuidePart | typeof GUIDE_START;

/** Files that the guide refers to: alert rules, a dashboard, and configuration of other programs. */
export const GUIDE_SAMPLES = [
	"ops/container/.dockerignore",
	"ops/container/Containerfile",
	"ops/container/README.md",
	"ops/container/compose.yaml",
	"ops/grafana/ringback.json",
	"ops/prometheus/database.rules.yml",
	"ops/prometheus/prometheus.yml",
	"ops/prometheus/ringback.rules.yml",
	"ops/proxy/Caddyfile",
	"ops/proxy/haproxy.cfg",
	"ops/proxy/nginx.conf",
] as const;

export function readGuide({ file }: GuideFile): string {
	return readShippedFile(file);
}
