// Describes the machine on which the figures were measured.

import { arch, availableParallelism, cpus, totalmem } from "node:os";

export interface Machine {
	cores: number;
	model: string;
	arch: string;
	memoryGb: number;
	node: string;
	/** Version of PostgreSQL, or null if no workload used it. */
	postgres: string | null;
}

export function describeMachine(postgres: string | null): Machine {
	return {
		cores: availableParallelism(),
		model: cpus()[0]?.model.trim() ?? "unknown",
		arch: arch(),
		memoryGb: Math.round(totalmem() / 2 ** 30),
		node: process.version,
		postgres,
	};
}

export function machineLine({ cores, model, arch, memoryGb, node, postgres }: Machine): string {
	const database = postgres === null ? "" : `, PostgreSQL ${postgres}`;
	return `${cores} cores (${model}, ${arch}), ${memoryGb} GB, Node ${node}${database}`;
}
