// The settings about the database: which one, how many connections, and what stands between.

import { ON_OR_OFF, type SettingReader } from "./config-reader.ts";
import type { DatabaseSetting } from "./store/open.ts";
import { POSTGRES_DEFAULTS, type PostgresSetting } from "./store/postgres-setting.ts";

const DEFAULT_PATH = "data/ringback.db";
const POSTGRES_URL = /^postgres(ql)?:\/\//;
export const POSTGRES_EXAMPLE = "postgres://user:password@host:5432/database";
/** One for a transaction and one for a question beside it: with fewer they would wait for each other. */
const LEAST_POOL = 2;
const MOST_POOL = 500;
/**
 * What people write for DATABASE_URL. All of them name one database as a whole: PGHOST and its like are psql's, and
 * many have them set for something else.
 */
const MISSPELT: ReadonlySet<string> = new Set([
	...["DATABASE", "DATABASE_URI", "DATABASE_DSN", "DATABASE_PATH", "DATABASE_FILE", "DATABASE_URL"],
	...["DATABASEURL", "DATABASE_ULR", "DATABSE_URL", "DATBASE_URL", "DATEBASE_URL", "DATABASES_URL"],
	...["DB_URL", "DB_URI", "DB_DSN", "DBURL", "PG_URL", "PG_URI", "PGURL"],
	...["POSTGRES_URL", "POSTGRES_URI", "POSTGRES_DSN", "POSTGRESQL_URL", "POSTGRESQL_URI", "POSTGRESQL_DSN"],
	...["SQLITE_URL", "SQLITE_PATH", "SQLITE_FILE"],
]);

type PostgresParts = Omit<PostgresSetting, "kind" | "url">;

export function readDatabase(reader: SettingReader): DatabaseSetting {
	const postgres = readPostgresSettings(reader);
	const given = reader.secret("DATABASE_URL");
	if (given === undefined) return readNoDatabase(reader, postgres);
	return readGivenDatabase(reader, given, postgres);
}

/** One that looks as if somebody meant another is no reason to take conversions into a file that nobody knows of. */
function readNoDatabase(reader: SettingReader, postgres: PostgresParts): DatabaseSetting {
	// A file that cannot be read has been complained about.
	if (!reader.hasSecret("DATABASE_URL")) {
		checkIsAlone(reader, postgres);
		for (const name of reader.setNames) {
			if (MISSPELT.has(name.toUpperCase())) {
				reader.problem(
					name,
					`is not read, and DATABASE_URL is not set. Call it DATABASE_URL; if a SQLite file is meant, set DATABASE_URL=sqlite:${DEFAULT_PATH}.`,
				);
			}
		}
	}
	return { kind: "sqlite", path: DEFAULT_PATH };
}

function readGivenDatabase(reader: SettingReader, text: string, postgres: PostgresParts): DatabaseSetting {
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
function checkIsAlone(reader: SettingReader, { directUrl }: PostgresParts): void {
	if (directUrl === null) return;
	reader.problem("RINGBACK_DATABASE_DIRECT_URL", "is set, but DATABASE_URL names no PostgreSQL.");
}

/** Read, and judged, whichever database it is: a wrong value is wrong before it is used. */
function readPostgresSettings(reader: SettingReader): PostgresParts {
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
	const text = reader.secret("RINGBACK_DATABASE_DIRECT_URL");
	if (text === undefined) return null;
	if (POSTGRES_URL.test(text) && URL.canParse(text)) return text;
	// The value is not repeated: it holds a password.
	reader.problem(
		"RINGBACK_DATABASE_DIRECT_URL",
		`must be the address of the PostgreSQL server itself, ${POSTGRES_EXAMPLE}, where DATABASE_URL is a pooler's.`,
	);
	return null;
}
