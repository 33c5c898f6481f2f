// What `ringback doctor` says about PostgreSQL: whether words between processes arrive, and what may stand in the way.

import { MINUTE_MS } from "../domain/time.ts";
import type { Workplace } from "../service/workplace.ts";
import {
	canListen,
	readPartitionStates,
	readServerState,
	readStatementTimeout,
	type ServerState,
} from "../store/postgres-doctor.ts";
import type { PostgresSetting } from "../store/postgres-setting.ts";
import type { Db } from "../store/store.ts";
import { type Finding, messageOf, ok, problem, warning } from "./finding.ts";

/** While one is open, no dead row that it could still see is cleared away, in any table. */
const LONG_TRANSACTION_MS = 5 * MINUTE_MS;

export async function examinePostgres(setting: PostgresSetting, workplace: Workplace): Promise<Finding[]> {
	const { db } = workplace.store;
	const state = await readServerState(db);
	return [
		await checkListen(setting, db),
		await checkTimeouts(setting, db),
		checkConnections(setting, state),
		checkTransactions(state),
		checkVacuum(state),
		...(workplace.migration.version === 0 ? [] : [await checkPartitions(workplace)]),
	];
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

function checkConnections(
	{ poolSize, directUrl }: PostgresSetting,
	{ maxConnections, connections }: ServerState,
): Finding {
	// Behind a pooler only the one that listens comes to the server itself.
	const needed = (directUrl === null ? poolSize : 0) + 1;
	const detail = `${connections} of ${maxConnections} are in use; a process takes up to ${needed}`;
	if (needed <= maxConnections - connections) return ok("connections", detail);
	return warning(
		"connections",
		`${detail}, more than there are left. Lower RINGBACK_DATABASE_POOL, raise max_connections, or put PgBouncer in between.`,
	);
}

function checkTransactions({ oldestTransactionMs }: ServerState): Finding {
	const minutes = Math.floor((oldestTransactionMs ?? 0) / MINUTE_MS);
	if ((oldestTransactionMs ?? 0) < LONG_TRANSACTION_MS)
		return ok("transactions", "none has been open for long");
	return warning(
		"transactions",
		`one has been open for ${minutes} minutes, and keeps dead rows from being cleared away. Find it: select pid, application_name, state, query from pg_stat_activity order by xact_start`,
	);
}

function checkVacuum({ vacuumsByItself, bloated }: ServerState): Finding {
	if (!vacuumsByItself)
		return warning("vacuum", "autovacuum is off: turn it on, or every query becomes slower");
	if (bloated.length === 0) return ok("vacuum", "autovacuum is on and keeps up");
	const names = bloated.map(({ table, deadRows }) => `${table} (${deadRows})`).join(", ");
	return warning("vacuum", `more dead rows than living ones in ${names}. Run: vacuum analyze`);
}

async function checkPartitions({ store, clock }: Workplace): Promise<Finding> {
	const states = await readPartitionStates(store.db, clock.nowMs());
	const missing = states.filter(({ isReady }) => !isReady).map(({ table }) => table);
	const loose = states.filter(({ hasLooseRows }) => hasLooseRows).map(({ table }) => `${table}_other`);
	if (missing.length > 0) {
		const cure =
			"Start a worker, or run `ringback migrate`; if it stays, the log says why they cannot be made";
		return warning("partitions", `${missing.join(", ")} has none for the time to come. ${cure}`);
	}
	if (loose.length > 0) {
		return warning(
			"partitions",
			`there are rows in ${loose.join(", ")}, because a partition was missing once. They go by themselves when they are old enough`,
		);
	}
	return ok("partitions", "there are some for the time to come");
}
