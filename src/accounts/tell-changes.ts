// Turns changes that people have yet to be told of into mails: at once for the first, then together for those that
// follow, so that a busy hour is not a flood. The mail is written in the transaction that takes the changes.

import { DAY_MS } from "../domain/time.ts";
import { tellAtMs } from "../domain/told-changes.ts";
import type { Clock, Mail } from "../ports.ts";
import { type Change, findDueTopic, postponeTopic, takeChanges } from "../store/changes-to-tell.ts";
import { lastMailOn } from "../store/mail-queue.ts";
import { findPersonById } from "../store/people.ts";
import { addresseesOf } from "../store/programme-people.ts";
import { findProgrammesById } from "../store/programmes.ts";
import type { Db, Store } from "../store/store.ts";
import {
	composeAccountChangeMail,
	composeProgrammeChangeMail,
	composeRemovalMail,
	composeRoleMail,
} from "./change-mail.ts";
import type { MailDispatcher } from "./mail-dispatcher.ts";

export interface TellDeps {
	store: Store;
	clock: Clock;
	mails: MailDispatcher;
	publicUrl: string;
}

/** A round's worth, so that other work gets its time; the next round takes the rest. */
const MAX_TOPICS_A_ROUND = 50;
/**
 * From when the mail is written: after this it is not sent any more. What had to wait for a mail server to be set up is
 * still told, because each line says when it happened.
 */
const SENT_WITHIN_MS = 2 * DAY_MS;

/** Also has mails sent that failed before and are due by now. */
export async function tellChanges(deps: TellDeps, isStopping: () => boolean): Promise<void> {
	try {
		for (let told = 0; told < MAX_TOPICS_A_ROUND && !isStopping(); told++) {
			if (!(await tellOne(deps))) break;
		}
	} finally {
		if (!isStopping()) deps.mails.wake();
	}
}

/** False when nothing is due. */
async function tellOne({ store, clock, mails, publicUrl }: TellDeps): Promise<boolean> {
	const nowMs = clock.nowMs();
	const topic = await findDueTopic(store.db, nowMs);
	if (topic === undefined) return false;
	await store.transact(async (trx) => {
		const allowedAtMs = tellAtMs(topic.audience, nowMs, await lastMailOn(trx, topic.name));
		if (allowedAtMs > nowMs) return postponeTopic(trx, topic.name, allowedAtMs);
		const changes = await takeChanges(trx, topic.name);
		if (changes.length === 0) return;
		const written =
			topic.audience === "person"
				? await writeToPerson(trx, topic.personId, changes, publicUrl)
				: await writeToOwners(trx, topic.programmeId, changes, publicUrl);
		for (const mail of written) {
			await mails.enqueue(trx, { ...mail, goodForMs: SENT_WITHIN_MS, topic: topic.name });
		}
	});
	return true;
}

interface Written extends Omit<Mail, "to"> {
	to: string;
}

async function writeToPerson(
	trx: Db,
	personId: number,
	changes: readonly Change[],
	publicUrl: string,
): Promise<Written[]> {
	const person = await findPersonById(trx, personId);
	if (person === undefined) return [];
	const { email: to, deactivated_at_ms } = person;
	// Mails of their own: advice about a changed password is of no use to somebody whose access or role has changed.
	const {
		removed = [],
		role = [],
		account: others = [],
	} = Object.groupBy(changes, ({ action }) =>
		action === "person.removed" ? "removed" : action === "person.role_changed" ? "role" : "account",
	);
	const ids = [...removed, ...role].flatMap(({ programme_id }) => programme_id ?? []);
	const programmes = await findProgrammesById(trx, ids);
	const written: Written[] = [];
	if (removed.length > 0) written.push({ to, ...composeRemovalMail(person, removed, programmes) });
	if (role.length > 0) written.push({ to, ...composeRoleMail(person, role, programmes) });
	if (others.length > 0) {
		const isDeactivated = deactivated_at_ms !== null;
		written.push({ to, ...composeAccountChangeMail(person, others, publicUrl, isDeactivated) });
	}
	return written;
}

async function writeToOwners(
	trx: Db,
	programmeId: number,
	changes: readonly Change[],
	publicUrl: string,
): Promise<Written[]> {
	const programme = (await findProgrammesById(trx, [programmeId])).get(programmeId);
	if (programme === undefined) return [];
	const owners = await addresseesOf(trx, programmeId, ["owner"]);
	// Whoever was invited has a mail of their own; and an import mails nobody whom it adds.
	const [only, ...others] = changes;
	const invited = only?.action === "person.invited" && others.length === 0 ? only.subject : null;
	const added = changes.filter(({ action }) => action === "person.imported").map(({ subject }) => subject);
	return owners
		.filter(({ email }) => email !== invited && !added.includes(email))
		.map((owner) => ({
			to: owner.email,
			...composeProgrammeChangeMail(owner, programme, changes, publicUrl),
		}));
}
