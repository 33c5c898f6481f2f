// The settings about the database: which one, how many connections, and what stands between.

import { ON_OR_OFF, type SettingReader } from "./config-values.ts";
import type { DatabaseSetting } from "./store/open.ts";
import { POSTGRES_DEFAULTS, type PostgresSetting } from "./store/postgres-setting.ts";

const DEFAULT_PATH = "data/ringback.db";
const POSTGRES_URL = /^postgres(ql)?:\/\//;
const POSTGRES_EXAMPLE = "postgres://user:password@host:5432/database";
/** One for a transaction and one for a question beside it: with fewer they would wait for each other. */
const LEAST_POOL = 2;
const MOST_POOL = 500;

export function readDatabase(reader: SettingReader): DatabaseSetting {
	const postgres = readPostgresSettings(reader);
	const text = reader.text("DATABASE_URL") ?? `sqlite:${DEFAULT_PATH}`;
	if (POSTGRES_URL.test(text)) {
		if (URL.canParse(text)) return { kind: "postgres", url: text, ...postgres };
		reader.problem("DATABASE_URL", `is not a valid PostgreSQL URL: ${POSTGRES_EXAMPLE}.`);
	} else if (text === "sqlite::memory:") {
		reader.problem("DATABASE_URL", "must name a file: a database in memory would forget every conversion.");
	} else if (/^sqlite:./.test(text)) {
		checkIsAlone(reader, postgres);
		return { kind: "sqlite", path: text.slice("sqlite:".length) };
	} else {
		reader.problem("DATABASE_URL", `must be sqlite:PATH or ${POSTGRES_EXAMPLE}.`);
	}
	return { kind: "sqlite", path: DEFAULT_PATH };
}

/** With SQLite it would say that somebody means a server, and believes to run on it. */
function checkIsAlone(reader: SettingReader, { directUrl }: Pick<PostgresSetting, "directUrl">): void {
	if (directUrl === null) return;
	reader.problem("RINGBACK_DATABASE_DIRECT_URL", "is set, but DATABASE_URL names no PostgreSQL.");
}

/** Read, and judged, whichever database it is: a wrong value is wrong before it is used. */
function readPostgresSettings(reader: SettingReader): Omit<PostgresSetting, "kind" | "url"> {
	const directUrl = readDirectUrl(reader);
	// A pooler may hand a statement to a session that has never heard of its name: older ones all do.
	const byDefault = directUrl === null && POSTGRES_DEFAULTS.preparesStatements ? "on" : "off";
	const { poolSize } = POSTGRES_DEFAULTS;
	return {
		directUrl,
		poolSize: reader.integer("RINGBACK_DATABASE_POOL", poolSize, LEAST_POOL, MOST_POOL),
		preparesStatements: reader.choice("RINGBACK_PREPARED_STATEMENTS", ON_OR_OFF, byDefault) === "on",
	};
}

function readDirectUrl(reader: SettingReader): string | null {
	const text = reader.text("RINGBACK_DATABASE_DIRECT_URL");
	if (text === undefined) return null;
	if (POSTGRES_URL.test(text) && URL.canParse(text)) return text;
	// The value is not repeated: it holds a password.
	reader.problem(
		"RINGBACK_DATABASE_DIRECT_URL",
		`must be the address of the PostgreSQL server itself, ${POSTGRES_EXAMPLE}, where DATABASE_URL is a pooler's.`,
	);
	return null;
}
