// Periodic work: the approval window, expiry of parked conversions, jobs of many lines, early notices, mail
// and retention. Each chore runs independently and writes its result into its row of the table `chores`,
// where every process can read it. A failed chore is logged and tried again. No chore runs while the clock is
// uncertain.

import { publishLastingTrouble } from "#core/callbacks/failure-notices.ts";
import type { ConversionsDeps } from "#core/conversions/deps.ts";
import { approveDue, expireParked } from "#core/conversions/end-windows.ts";
import { CHORES, type ChoreName } from "#core/domain/chore.ts";
import { DAY_MS, SECOND_MS } from "#core/domain/time.ts";
import { type TellDeps, tellChanges, tellNotices } from "#core/mail/tell.ts";
import type { AccountsDeps } from "#core/people/deps.ts";
import type { Clock, Log } from "#core/ports.ts";
import { readIsHeld } from "#core/store/queries/delivery-pause.ts";
import { type PruneRule, pruneShortLived } from "#core/store/queries/prune.ts";
import { type ChoreStep, saveChore } from "#core/store/queries/system.ts";
import type { Store } from "#core/store/store.ts";
import { type Loop, startLoop } from "./loop.ts";

export type Work = (isStopping: () => boolean) => Promise<unknown>;

export interface ChoreDeps {
	store: Store;
	clock: Clock;
	log: Log;
}

export interface ModuleChoreDeps extends ChoreDeps, ConversionsDeps, AccountsDeps, TellDeps {}

/** Chore of a module. Its interval and its sentence are in core/domain/chore.ts. */
export interface ModuleChore {
	name: ChoreName;
	/** Kind of processes that run the chore: all processes, or only those that deliver callbacks. */
	runsIn: "every process" | "delivery";
	needsMail?: true;
	/** Returns a function that does the work of one run. A process calls `prepare` once, when it starts. */
	prepare(deps: ModuleChoreDeps): Work;
}

export interface ChoresDeps extends ModuleChoreDeps {
	retentionDays: number;
	/** Number of years for which statements of erased partners keep the data of their parties. */
	statementYears: number;
	/** Rules of the core and of all modules, in the order in which they run. */
	pruneRules: readonly PruneRule[];
	moduleChores: readonly ModuleChore[];
}

export interface Chores {
	/** Sends notices by mail now, if they are due. It is called after a notice was stored. */
	mailNow(): void;
	stop(): Promise<void>;
}

/** Time between two checks of whether an uncertain clock has become reliable, so that chores may run again. */
const SURE_LOOK_MS = 5 * SECOND_MS;
/**
 * Minimum time between two stored successes of a chore. It is well below two minutes, the shortest time after
 * which a chore counts as late.
 */
const SAVED_EVERY_MS = 20 * SECOND_MS;
/** Minimum time between a failed run and the next one, because each failure is an error in the log. */
const AGAIN_AFTER_MS = 5 * SECOND_MS;
/** Maximum length of a stored error, so that it fits on one line of a page. */
const MAX_ERROR_LENGTH = 200;

export function startChores(deps: ChoresDeps): Chores {
	const { store, clock, mails } = deps;
	// While callbacks are held, no shop can answer, so notices about failures must wait, too.
	const unlessHeld =
		(work: Work): Work =>
		async (isStopping) =>
			(await readIsHeld(store.db)) ? undefined : work(isStopping);
	// Without a mail server, notices wait in the database until there is one.
	const mail = mails.isOn
		? startChore(
				deps,
				"notice_mails",
				unlessHeld((isStopping) => tellNotices(deps, isStopping)),
			)
		: null;
	const publishEarly = unlessHeld(async (isStopping) => {
		if ((await publishLastingTrouble(deps, isStopping)) > 0) mail?.runSoon();
	});
	const all = [
		startChore(deps, "approvals", (isStopping) => approveDue(deps, isStopping)),
		startChore(deps, "expiries", (isStopping) => expireParked(deps, isStopping)),
		startChore(deps, "nonces", () => pruneShortLived(store, clock.nowMs())),
		startChore(deps, "retention", (isStopping) => removeOld(deps, isStopping)),
		startChore(deps, "early_notices", publishEarly),
		mail,
		startModuleChores(deps, deps.moduleChores, "delivery"),
	].filter((chore) => chore !== null);
	return {
		mailNow: () => mail?.runSoon(),
		stop: async () => {
			await Promise.all(all.map((chore) => chore.stop()));
		},
	};
}

async function removeOld(deps: ChoresDeps, isStopping: () => boolean): Promise<void> {
	const { store, clock, retentionDays, statementYears, pruneRules } = deps;
	const nowMs = clock.nowMs();
	const olderThanMs = nowMs - retentionDays * DAY_MS;
	for (const { prune } of pruneRules) {
		await prune({ store, clock, nowMs, olderThanMs, statementYears, isStopping });
	}
}

export interface ModuleChores {
	wake(name: ChoreName): void;
	stop(): Promise<void>;
}

/** Starts the chores of modules that run in this kind of process. */
export function startModuleChores(
	deps: ModuleChoreDeps,
	chores: readonly ModuleChore[],
	kind: ModuleChore["runsIn"],
): ModuleChores {
	const started = chores.filter(
		({ runsIn, needsMail }) => runsIn === kind && (deps.mails.isOn || !needsMail),
	);
	const loops = new Map(started.map(({ name, prepare }) => [name, startChore(deps, name, prepare(deps))]));
	return {
		wake: (name) => loops.get(name)?.runSoon(),
		stop: async () => {
			await Promise.all([...loops.values()].map((loop) => loop.stop()));
		},
	};
}

/**
 * Starts the chore that sends mails about changes. It runs in every process with a mail server. Without a
 * mail server, changes wait in the database.
 */
export function startTelling(deps: TellDeps & ChoreDeps): Loop | null {
	return deps.mails.isOn
		? startChore(deps, "change_mails", (isStopping) => tellChanges(deps, isStopping))
		: null;
}

export function startChore({ store, clock, log }: ChoreDeps, name: ChoreName, work: Work): Loop {
	let hasRun = false;
	/** True if the last run succeeded. False before the first run. */
	let hasSucceeded = false;
	let savedAtMs = Number.NEGATIVE_INFINITY;
	let saving: Promise<void> = Promise.resolve();

	/** Stores the result of a run. If this fails, the failure is logged and the chore continues. */
	function save(step: ChoreStep): void {
		const nowMs = clock.nowMs();
		savedAtMs = nowMs;
		saving = saving
			.then(() => saveChore(store.db, name, step, nowMs))
			.catch((error: unknown) => {
				savedAtMs = Number.NEGATIVE_INFINITY;
				log.warn({ err: error, chore: name }, "the result of a chore could not be stored");
			});
	}

	/** Stores a result at most every 20 seconds, because a repeated success is no news. */
	function saveNowAndThen(step: ChoreStep): void {
		if (clock.nowMs() - savedAtMs >= SAVED_EVERY_MS) save(step);
	}

	async function run(isStopping: () => boolean): Promise<void> {
		if (!clock.isSure()) return;
		// The start of the first run is stored, because a chore that hangs in its first run would otherwise never count
		// as late.
		if (!hasRun) save("begun");
		hasRun = true;
		await work(() => {
			saveNowAndThen("working");
			return isStopping() || !clock.isSure();
		});
		if (hasSucceeded) saveNowAndThen("done");
		else save("done");
		hasSucceeded = true;
	}

	const { intervalMs } = CHORES[name];
	const loop = startLoop({
		clock,
		everyMs: () => (clock.isSure() ? intervalMs : SURE_LOOK_MS),
		againAfterMs: Math.max(intervalMs, AGAIN_AFTER_MS),
		run,
		onFailure(error) {
			hasSucceeded = false;
			save({ error: oneLine(error) });
			log.error({ err: error, chore: name }, "a chore failed; it will be tried again");
		},
	});
	return {
		runSoon: loop.runSoon,
		async stop() {
			await loop.stop();
			await saving;
		},
	};
}

function oneLine(error: unknown): string {
	const [line = ""] = (error instanceof Error ? error.message : String(error)).trim().split("\n");
	const text = line === "" ? "an error without a message" : line.slice(0, MAX_ERROR_LENGTH);
	return /[.!?]$/.test(text) ? text : `${text}.`;
}
