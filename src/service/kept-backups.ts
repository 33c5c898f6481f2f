// A folder of backups that are taken regularly: each is named by its time, and only the newest are kept. Nothing is
// removed but what has such a name.

import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { DAY_MS, isoTime } from "../domain/time.ts";
import { realClock } from "../outside/clock.ts";

const NAME = /^ringback-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z\.backup$/;
/** What a run that was killed has left. */
const LEFT = /^ringback-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z\.backup(?:\.copy)?\.partial-/;

/** The folder is made if it is not there, for this account alone. */
export function nameBackup(folder: string): string {
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	const time = isoTime(realClock.nowMs()).slice(0, 19).replaceAll(":", "-");
	return join(resolve(folder), `ringback-${time}Z.backup`);
}

/**
 * Once `made` is whole. The names of what was removed. What has a later name than `made` was written while the clock was
 * ahead: it neither counts nor goes, or it would push out what is really new. What was left unfinished goes after a day:
 * by then nobody works on it.
 */
export function removeOldBackups(made: string, keep: number): string[] {
	const folder = dirname(made);
	const names = readdirSync(folder);
	const old = names
		.filter((name) => NAME.test(name) && name < basename(made))
		.sort()
		.reverse()
		.slice(keep - 1);
	const left = names.filter((name) => LEFT.test(name) && isOlderThanADay(join(folder, name)));
	for (const name of [...old, ...left]) rmSync(join(folder, name), { force: true });
	return [...old, ...left];
}

function isOlderThanADay(path: string): boolean {
	const found = statSync(path, { throwIfNoEntry: false });
	return found !== undefined && realClock.nowMs() - found.mtimeMs > DAY_MS;
}
