// All work of a process besides answering requests: the callback engine, the chores, the reports about the
// process itself and the checks of the installation.

import { Engine } from "#core/callbacks/engine.ts";
import type { ChoreName } from "#core/domain/chore.ts";
import { NO_ENGINE, type ProcessEngine } from "#core/domain/process.ts";
import type { Load } from "#core/ports.ts";
import { MODULE_CHORES, PRUNE_RULES } from "../modules.ts";
import { startChores, startModuleChores, startTelling } from "../watch/chores.ts";
import { type InstallationWatch, WATCH_INTERVAL_MS } from "../watch/installation-watch.ts";
import { startLoop } from "../watch/loop.ts";
import type { InstallationFigures } from "../watch/metrics.ts";
import { type FitnessWatch, tellPresence, watchFigures, watchFitness } from "./upkeep.ts";
import type { Workplace } from "./workplace.ts";

export interface BackgroundWork {
	/** The callback engine, or null in a process that only answers requests. */
	engine: Engine | null;
	fitness: FitnessWatch;
	wake(name: ChoreName): void;
	/**
	 * Returns the figures for the metrics, or null if they have not been read yet. The function itself is null
	 * in a process that only answers requests.
	 */
	readFigures: (() => InstallationFigures | null) | null;
	/**
	 * Starts stopping the engine, so that other processes can take over its slots. `stop` waits until the engine has
	 * stopped.
	 */
	releaseSlots(): void;
	/** Stops everything. Resolves when the last callback in flight has ended and is stored. */
	stop(): Promise<void>;
}

export interface BackgroundWorkDeps {
	workplace: Workplace;
	installation: InstallationWatch;
	load: Load;
	startedAtMs: number;
}

export function startBackgroundWork(deps: BackgroundWorkDeps): BackgroundWork {
	const { workplace, installation, load, startedAtMs } = deps;
	const { config, clock, log } = workplace;
	const delivery = config.role === "web" ? null : startDelivery(workplace, load);
	const engine = delivery?.engine ?? null;
	const figures = delivery === null ? null : watchFigures(workplace);
	const presence = tellPresence({
		...workplace,
		startedAtMs,
		readEngine: () => describeEngine(engine, config.maxInFlight),
		readMailFailure: () => workplace.mailer?.failure ?? null,
	});
	const everywhere = startModuleChores(workplace, MODULE_CHORES, "every process");
	const telling = startTelling(workplace);
	const checks = startLoop({
		clock,
		everyMs: WATCH_INTERVAL_MS,
		firstAfterMs: WATCH_INTERVAL_MS,
		run: installation.look,
		onFailure: (error) => log.error({ err: error }, "the checks of the installation failed"),
	});
	const fitness = watchFitness(workplace);
	let deliveryStopped: Promise<void> | undefined;
	const stopDelivery = (): Promise<void> | undefined => {
		deliveryStopped ??= delivery?.stop();
		return deliveryStopped;
	};
	return {
		engine,
		fitness,
		wake: everywhere.wake,
		readFigures: figures?.read ?? null,
		releaseSlots: () => void stopDelivery(),
		async stop() {
			await Promise.all([
				stopDelivery(),
				fitness.stop(),
				figures?.stop(),
				presence.stop(),
				everywhere.stop(),
				telling?.stop(),
				workplace.mails.stop(),
				checks.stop(),
			]);
		},
	};
}

interface Delivery {
	engine: Engine;
	stop(): Promise<void>;
}

function startDelivery(workplace: Workplace, load: Load): Delivery {
	const { config } = workplace;
	const engine = new Engine({
		...workplace,
		wire: workplace.network.wire,
		caps: { perReceiver: config.maxInFlightPerProgramme, overall: config.maxInFlight },
		load,
		onNotice: () => chores.mailNow(),
	});
	const { retentionDays, statementYears } = config;
	const chores = startChores({
		...workplace,
		retentionDays,
		statementYears,
		pruneRules: PRUNE_RULES,
		moduleChores: MODULE_CHORES,
	});
	return {
		engine,
		async stop() {
			await Promise.all([engine.stop(), chores.stop()]);
		},
	};
}

/** Returns this process's columns in the table `processes` that describe its engine. */
function describeEngine(engine: Engine | null, maxInFlight: number): ProcessEngine {
	if (engine === null) return NO_ENGINE;
	const { waitingOrInFlight, backlog } = engine.counters;
	return {
		in_hand: waitingOrInFlight,
		programmes_due: backlog.receiversDue,
		oldest_due_at_ms: backlog.oldestDueAtMs,
		most_in_flight: maxInFlight,
	};
}
