// Measures the processor time of calls: of the service's process, and of all processes of PostgreSQL.

import { sql } from "kysely";
import { type Database, withStore } from "./database.ts";
import { least } from "./figures.ts";
import { cpuMicros, familyCpuMicros, parentOf } from "./process-cost.ts";
import type { Figure } from "./workload.ts";

export interface CallCost {
	/** Processor time of the service for each call. */
	serviceMicros: number;
	/** Processor time of PostgreSQL for each call, or null on SQLite, which runs in the service's process. */
	postgresMicros: number | null;
}

interface MeasuredService {
	kind: Database;
	databaseUrl: string;
	pid: number;
}

export async function measureCost<Answer>(
	service: MeasuredService,
	calls: number,
	work: () => Promise<Answer>,
): Promise<Answer & { cost: CallCost }> {
	const before = await readCost(service);
	const answer = await work();
	const after = await readCost(service);
	const isPostgres = service.kind === "PostgreSQL";
	return {
		...answer,
		cost: {
			serviceMicros: (after.serviceMicros - before.serviceMicros) / calls,
			postgresMicros: isPostgres ? (after.postgresMicros - before.postgresMicros) / calls : null,
		},
	};
}

async function readCost({ kind, databaseUrl, pid }: MeasuredService) {
	return {
		serviceMicros: cpuMicros(pid),
		postgresMicros: kind === "PostgreSQL" ? await readPostgresMicros(databaseUrl) : 0,
	};
}

/** Reads the processor time that all processes of the server have taken since its start. */
export function readPostgresMicros(databaseUrl: string): Promise<number> {
	return withStore(databaseUrl, async ({ db }) => {
		const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
		return familyCpuMicros(parentOf(rows[0]?.pid ?? Number.NaN));
	});
}

/**
 * Returns the figure of the total cost. On PostgreSQL it also returns the shares of the service and of the
 * server.
 */
export function costFigures(what: string, costs: readonly CallCost[]): Figure[] {
	const figure = (name: string, rounds: readonly number[]): Figure => ({
		what: `${what}: processor time${name}`,
		value: least(rounds),
		unit: "µs",
		goal: null,
		rounds,
	});
	const service = costs.map(({ serviceMicros }) => serviceMicros);
	const postgres = costs.flatMap(({ postgresMicros }) => postgresMicros ?? []);
	if (postgres.length === 0) return [figure("", service)];
	return [
		figure("", costs.map(totalMicros)),
		figure(" of the service", service),
		figure(" of PostgreSQL", postgres),
	];
}

export function totalMicros({ serviceMicros, postgresMicros }: CallCost): number {
	return serviceMicros + (postgresMicros ?? 0);
}
