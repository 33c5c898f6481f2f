// A database URL as the settings spell it, for the processes of the benchmark.

import type { DatabaseSetting } from "../src/store/open.ts";
import { POSTGRES_DEFAULTS } from "../src/store/postgres-setting.ts";

export function databaseSetting(url: string): DatabaseSetting {
	return url.startsWith("sqlite:")
		? { kind: "sqlite", path: url.slice("sqlite:".length) }
		: { kind: "postgres", url, ...POSTGRES_DEFAULTS };
}
