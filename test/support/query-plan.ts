// Shows how a database would run a query: which indexes it uses, and which tables it reads in full.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { CompiledQuery, type KyselyPlugin } from "kysely";
import { hotStatementName } from "#core/store/postgres/hot-statement.ts";
import type { Db, Store } from "#core/store/store.ts";
import type { DatabaseKind } from "./test-database.ts";

export interface QueryPlan {
	indexes: readonly string[];
	/** Tables that are read in full. */
	walks: readonly string[];
	/** The lines of the plan as the database prints them. */
	lines: readonly string[];
}

/**
 * Gives the planner the same statistics as in production. PostgreSQL analyses its tables by itself, and SQLite's
 * tables are never analysed.
 */
export async function analyseAsInService({ kind, db }: Pick<Store, "kind" | "db">): Promise<void> {
	if (kind !== "postgres") return;
	await db.executeQuery(CompiledQuery.raw("analyze"));
	// In production, autovacuum empties the pending list of this index when it analyses the table.
	await db.executeQuery(CompiledQuery.raw("select gin_clean_pending_list('conversions_by_part')"));
}

/**
 * Returns the plans of all queries that `run` makes. For a hot statement it also returns the generic plan,
 * which does not depend on parameter values.
 */
export async function plansOf(
	kind: DatabaseKind,
	db: Db,
	run: (db: Db) => Promise<unknown>,
): Promise<QueryPlan[]> {
	const { db: recorded, queries } = recordQueries(db);
	await run(recorded);
	const plans: QueryPlan[] = [];
	for (const query of queries) {
		plans.push(await explain(kind, db, query));
		if (hotStatementName(query.sql) !== undefined) plans.push(await explainGeneric(db, query));
	}
	return plans;
}

/** Returns the same database, and a list to which every later query is added. */
export function recordQueries(db: Db): { db: Db; queries: CompiledQuery[] } {
	const queries: CompiledQuery[] = [];
	const recorder: KyselyPlugin = {
		transformQuery({ node, queryId }) {
			queries.push(db.getExecutor().compileQuery(node, queryId));
			return node;
		},
		transformResult: async ({ result }) => result,
	};
	const recorded = db.withPlugin(recorder);
	// Hot statements bypass the plugins, so they are recorded separately.
	const executeQuery = recorded.executeQuery.bind(recorded);
	Object.assign(recorded, {
		executeQuery: (query: CompiledQuery) => {
			queries.push(query);
			return executeQuery(query);
		},
	});
	return { db: recorded, queries };
}

async function explain(kind: DatabaseKind, db: Db, query: CompiledQuery): Promise<QueryPlan> {
	const prefix = kind === "SQLite" ? "explain query plan" : "explain";
	const explained = CompiledQuery.raw(`${prefix} ${query.sql}`, [...query.parameters]);
	const { rows } = await db.executeQuery<{ detail?: string; "QUERY PLAN"?: string }>(explained);
	return readPlan(rows.map((row) => row.detail ?? row["QUERY PLAN"] ?? ""));
}

/**
 * Returns PostgreSQL's generic plan, which is valid for any parameters. The caller must be in a transaction, because
 * this changes a setting until the end of the transaction.
 */
async function explainGeneric(db: Db, query: CompiledQuery): Promise<QueryPlan> {
	const execute = (text: string) => db.executeQuery<{ "QUERY PLAN"?: string }>(CompiledQuery.raw(text));
	await execute("set local plan_cache_mode = force_generic_plan");
	await execute(`prepare explained as ${query.sql}`);
	// The parameter values do not matter for a generic plan.
	const parameters = query.parameters.map(() => "null").join(", ");
	const { rows } = await execute(`explain execute explained${parameters === "" ? "" : `(${parameters})`}`);
	await execute("deallocate explained");
	return readPlan(rows.map((row) => row["QUERY PLAN"] ?? ""));
}

/** A SQLite connection that records every statement prepared on it. */
export class RememberingDatabase extends DatabaseSync {
	readonly #texts: string[] = [];

	override prepare(...args: Parameters<DatabaseSync["prepare"]>): StatementSync {
		this.#texts.push(args[0]);
		return super.prepare(...args);
	}

	plans(): QueryPlan[] {
		return this.#texts.map((text) => {
			// Parameters without a value count as null, which does not change the plan.
			const rows = super.prepare(`explain query plan ${text}`).all();
			return readPlan(rows.map(({ detail }) => String(detail)));
		});
	}
}

function readPlan(lines: readonly string[]): QueryPlan {
	const find = (...patterns: readonly RegExp[]) =>
		lines.flatMap((line) => patterns.flatMap((pattern) => pattern.exec(line)?.[1] ?? []));
	// In a plan, such a line names a table that the statement itself creates, as in "MATERIALIZE next".
	const lists = find(/^MATERIALIZE (\w+)/);
	return {
		lines,
		// SQLite prints "SEARCH queue USING INDEX queue_by_due", and PostgreSQL prints "Index Scan using
		// queue_by_due on queue q".
		indexes: find(
			/USING (?:COVERING )?INDEX (\w+)/,
			/Index (?:Only )?Scan (?:Backward )?using (\w+)/,
			/Bitmap Index Scan on (\w+)/,
		),
		walks: find(/^SCAN (?!CONSTANT ROW)(\w+)/, /Seq Scan on (\w+)/).filter((name) => !lists.includes(name)),
	};
}
