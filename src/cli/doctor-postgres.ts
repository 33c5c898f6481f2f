// What `ringback doctor` says about PostgreSQL: whether words between processes arrive, and what may stand in the way.

import { canListen, readStatementTimeout } from "../store/postgres-doctor.ts";
import type { PostgresSetting } from "../store/postgres-setting.ts";
import type { Db } from "../store/store.ts";
import { type Finding, messageOf, ok, problem, warning } from "./finding.ts";

export async function examinePostgres(setting: PostgresSetting, db: Db): Promise<Finding[]> {
	return [await checkListen(setting, db), await checkTimeouts(setting, db)];
}

async function checkListen(setting: PostgresSetting, db: Db): Promise<Finding> {
	const address = setting.directUrl === null ? "DATABASE_URL" : "RINGBACK_DATABASE_DIRECT_URL";
	try {
		if (await canListen(setting, db)) return ok("listen", `LISTEN works at ${address}`);
	} catch (error) {
		return problem("listen", `${messageOf(error)}. Check ${address}.`);
	}
	return problem(
		"listen",
		`LISTEN does not work at ${address}, which leads to a pooler in transaction mode: callbacks from other processes would wait for the next look, up to five seconds. Set RINGBACK_DATABASE_DIRECT_URL to the PostgreSQL server itself.`,
	);
}

async function checkTimeouts({ directUrl }: PostgresSetting, db: Db): Promise<Finding> {
	const timeoutMs = await readStatementTimeout(db);
	if (timeoutMs > 0) return ok("timeouts", `the server ends a statement of ours after ${timeoutMs / 1000} s`);
	const where = directUrl === null ? "" : " outside a transaction";
	return warning(
		"timeouts",
		`the server lets a statement${where} run for ever. For the account in DATABASE_URL run: alter role … set statement_timeout = '15s'`,
	);
}
