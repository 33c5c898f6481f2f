// Keeps a process at work on jobs of many decisions: at once when it is told of one, and from time to time for those
// that another process left behind.

import type { Log } from "../ports.ts";
import { workOffJobs } from "./bulk-work.ts";
import type { ConversionsDeps } from "./deps.ts";

export interface BulkRunner {
	/** There is a job to work on. */
	wake(): void;
	/** Resolves when nothing is being worked on. */
	idle(): Promise<void>;
	/** Finishes the page it is at, and gives the rest back. */
	stop(): Promise<void>;
}

/** How long a job that somebody left behind may go unnoticed, besides its claim. */
const LOOK_INTERVAL_MS = 10_000;

export function startBulkRunner(deps: ConversionsDeps & { log: Log }): BulkRunner {
	let isStopping = false;
	let isWanted = false;
	let running: Promise<void> | null = null;
	let cancelLook: () => void = () => undefined;

	function wake(): void {
		if (isStopping) return;
		isWanted = true;
		running ??= run();
	}

	async function run(): Promise<void> {
		cancelLook();
		while (isWanted && !isStopping) {
			isWanted = false;
			try {
				await workOffJobs(deps, () => isStopping);
			} catch (error) {
				deps.log.error({ err: error }, "bulk decisions stopped short; they will be taken up again");
			}
		}
		running = null;
		if (!isStopping) cancelLook = deps.clock.after(LOOK_INTERVAL_MS, wake);
	}

	cancelLook = deps.clock.after(0, wake);
	return {
		wake,
		idle: async () => {
			while (running !== null) await running;
		},
		async stop() {
			isStopping = true;
			cancelLook();
			await running;
		},
	};
}
