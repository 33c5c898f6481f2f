// Turns changes that people have yet to be told of into mails: at once for the first, then together for those that
// follow, so that a busy hour is not a flood. The mail is written in the transaction that takes the changes.

import { audienceOf, tellAtMs } from "../domain/told-changes.ts";
import type { Clock, Log } from "../ports.ts";
import { type Change, findDueTopic, postponeTopic, takeChanges } from "../store/changes-to-tell.ts";
import { lastMailOn } from "../store/mail-queue.ts";
import { findPersonById } from "../store/people.ts";
import { findProgrammesById, ownerEmails } from "../store/programmes.ts";
import type { Db, Store } from "../store/store.ts";
import { composeAccountChangeMail, composeProgrammeChangeMail } from "./change-mail.ts";
import type { MailDispatcher } from "./mail-dispatcher.ts";

export interface TellDeps {
	store: Store;
	clock: Clock;
	log: Log;
	mails: MailDispatcher;
	publicUrl: string;
}

export interface Teller {
	stop(): Promise<void>;
}

/** How long after a change its mail is written, at the latest. */
const LOOK_INTERVAL_MS = 5_000;
/** Per round, so that other work gets its turn; the next round takes the rest. */
const MAX_TOPICS_A_ROUND = 50;
/** News this old is of no use to anybody. */
const GOOD_FOR_MS = 2 * 86_400_000;

/** In every process that has a mail server: whichever is there tells. Without one it waits on record. */
export function startTelling(deps: TellDeps): Teller {
	if (!deps.mails.isOn) return { stop: async () => undefined };
	let isStopping = false;
	let running = Promise.resolve();
	let cancel = deps.clock.after(0, look);

	function look(): void {
		running = tellChanges(deps, () => isStopping).then(
			() => rest(),
			(error: unknown) => {
				deps.log.error({ err: error }, "changes could not be told by mail; trying again");
				rest();
			},
		);
	}

	function rest(): void {
		if (isStopping) return;
		// Also for what failed before: its mail may be due by now.
		deps.mails.wake();
		cancel = deps.clock.after(LOOK_INTERVAL_MS, look);
	}

	return {
		async stop() {
			isStopping = true;
			cancel();
			await running;
		},
	};
}

export async function tellChanges(deps: TellDeps, isStopping: () => boolean): Promise<void> {
	for (let told = 0; told < MAX_TOPICS_A_ROUND && !isStopping(); told++) {
		if (!(await tellOne(deps))) return;
	}
}

/** False when nothing is due. */
async function tellOne({ store, clock, mails, publicUrl }: TellDeps): Promise<boolean> {
	const nowMs = clock.nowMs();
	const due = await findDueTopic(store.db, nowMs);
	if (due === undefined) return false;
	const { topic, personId, programmeId } = due;
	await store.transact(async (trx) => {
		const audience = personId === null ? "owners" : "person";
		const allowedAtMs = tellAtMs(audience, nowMs, await lastMailOn(trx, topic));
		if (allowedAtMs > nowMs) return postponeTopic(trx, topic, allowedAtMs);
		const changes = await takeChanges(trx, topic);
		if (changes.length === 0) return;
		const written =
			personId === null
				? await writeToOwners(trx, programmeId ?? 0, changes, publicUrl)
				: await writeToPerson(trx, personId, changes, publicUrl);
		if (written === null) return;
		for (const to of written.to) {
			await mails.enqueue(trx, { to, ...written.mail, goodForMs: GOOD_FOR_MS, topic });
		}
	});
	return true;
}

interface Written {
	to: readonly string[];
	mail: { subject: string; text: string };
}

async function writeToPerson(
	trx: Db,
	personId: number,
	changes: readonly Change[],
	publicUrl: string,
): Promise<Written | null> {
	const person = await findPersonById(trx, personId);
	if (person === undefined) return null;
	return { to: [person.email], mail: composeAccountChangeMail(person.email, changes, publicUrl) };
}

async function writeToOwners(
	trx: Db,
	programmeId: number,
	changes: readonly Change[],
	publicUrl: string,
): Promise<Written | null> {
	const programme = (await findProgrammesById(trx, [programmeId])).get(programmeId);
	if (programme === undefined) return null;
	const to = new Set(await ownerEmails(trx, programmeId));
	for (const change of changes) {
		const { action, subject, detail } = change;
		if (subject === null || audienceOf(action) !== "owners") continue;
		// Whoever was removed hears of it too: perhaps it was a thief who did it. Whoever was invited has a mail
		// of their own.
		if (action === "person.removed" && detail === "owner") to.add(subject);
		if (action === "person.invited" && changes.length === 1) to.delete(subject);
	}
	return { to: [...to], mail: composeProgrammeChangeMail(programme, changes, publicUrl) };
}
