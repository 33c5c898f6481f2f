// Ending somebody's access: called in the same transaction by every way to lose it. What a person could still do
// with a session, a link, half a sign-in or a job under way ends with it, whoever made the link and whomever it was
// for. Where others take the access away, so do the API keys that the person issued and the secret that they prepared:
// a copy of either would be good without any sign-in.

import { writeKeyLabel } from "../domain/action.ts";
import { grants, type ProgrammeRole } from "../domain/roles.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { endJobsOf, type Job } from "../store/queries/jobs.ts";
import { listKeysIssuedBy, lowerApiKey, revokeApiKey } from "../store/queries/keys.ts";
import type { Person } from "../store/queries/people.ts";
import { endChallenges, endSessions, listSessions } from "../store/queries/sign-in.ts";
import {
	findSignInLinksOf,
	lockAccess,
	type WithdrawnSignInLink,
	withdrawSignInLinks,
	withdrawSignInLinksInto,
} from "../store/queries/sign-in-links.ts";
import {
	endSecrets,
	listSecretsPreparedBy,
	lockSecretsPreparedBy,
} from "../store/queries/signing-secrets.ts";
import type { Db } from "../store/store.ts";

/** How many of each. Whose links they were is on record, with an entry for each. */
export interface EndedAccess {
	sessions: number;
	/** Of the programme alone where it is about one: what somebody did elsewhere is not its owners' to know. */
	links: number;
	keys: number;
	/** API keys that no longer approve or reject. */
	lowered: number;
	/** Prepared, and discarded now. */
	secrets: number;
	/** Decisions and imports that they had applied, and are stopped. */
	jobs: number;
}

const NOTHING_ISSUED = { keys: 0, lowered: 0, secrets: 0 } as const;

export interface AccessEnding {
	/** Who ends it; null: the command line. */
	endedBy: number | null;
	/** The programme it is about; null for the account as a whole. */
	programmeId?: number | null;
	nowMs: number;
	/** The caller lets one session go on under another token: it is not counted as ended. */
	keepsOneSession?: boolean;
	/**
	 * Somebody takes the access away, or leaves: keys and prepared secrets end too, but for the keys named here. Else the
	 * person stays who they are, with a new password.
	 */
	keptKeys?: readonly string[];
}

export type EndingPreview = Awaited<ReturnType<typeof previewEnding>>;

/** What would end now, for those who are asked whether it should. */
export async function previewEnding(
	db: Db,
	person: Pick<Person, "id" | "public_id" | "email">,
	programmeId: number | null,
	nowMs: number,
) {
	const links = await findSignInLinksOf(db, person, nowMs);
	return {
		sessions: (await listSessions(db, person.public_id)).length,
		links: links.filter((link) => isTold(link, programmeId)).length,
		secrets: await listSecretsPreparedBy(db, person.id, programmeId),
		keys: await listKeysIssuedBy(db, person.id, programmeId),
	};
}

/** What somebody did in other programmes is not this one's owners' to know. */
function isTold(link: WithdrawnSignInLink, programmeId: number | null): boolean {
	return programmeId === null || link.programmeId === programmeId;
}

/** Password and authenticator stay; the caller removes them where they have to go. */
export async function endAccess(
	trx: Db,
	person: Pick<Person, "id" | "public_id" | "email">,
	{ endedBy, programmeId = null, nowMs, keepsOneSession = false, keptKeys }: AccessEnding,
): Promise<EndedAccess> {
	await lockAccess(trx);
	const sessions = (await endSessions(trx, person.public_id)) - (keepsOneSession ? 1 : 0);
	// Sign-ins that wait for an authenticator's code.
	await endChallenges(trx, person.public_id);
	const why = `the access of ${person.email} ended`;
	const withdrawn = await withdrawSignInLinks(trx, person, nowMs);
	await noteWithdrawn(trx, withdrawn, endedBy, why, nowMs);
	const jobs = await endJobsOf(trx, person.id, nowMs);
	await noteStopped(trx, jobs, endedBy, why, nowMs);
	const issued =
		keptKeys === undefined
			? NOTHING_ISSUED
			: await endIssued(trx, person.id, { endedBy, programmeId, nowMs, keptKeys });
	const told = withdrawn.filter((link) => isTold(link, programmeId));
	const ended = { sessions, links: told.length, jobs: jobs.length, ...issued };
	const detail = sayWhatEnded(ended);
	if (detail !== null) {
		const note = { personId: endedBy, programmeId, action: "access.ended" } as const;
		await noteAudit(trx, { ...note, subject: person.email, detail }, nowMs);
	}
	return ended;
}

/** For whoever stays with fewer rights, signed in: invitations and decisions end, and their keys do no more than they may. */
export async function endRightsIn(
	trx: Db,
	person: Pick<Person, "id" | "email">,
	role: ProgrammeRole,
	{ endedBy, programmeId, nowMs }: { endedBy: number; programmeId: number; nowMs: number },
): Promise<EndedAccess> {
	await lockAccess(trx);
	const withdrawn = await withdrawSignInLinksInto(trx, programmeId, person.id, nowMs);
	await noteWithdrawn(trx, withdrawn, endedBy, `${person.email} may no longer invite people`, nowMs);
	const jobs = await endJobsOf(trx, person.id, nowMs, programmeId);
	await noteStopped(trx, jobs, endedBy, `${person.email} may no longer decide`, nowMs);
	const ended = { sessions: 0, links: withdrawn.length, jobs: jobs.length };
	if (!grants(role, "integrate")) {
		return { ...ended, ...(await endIssued(trx, person.id, { endedBy, programmeId, nowMs, keptKeys: [] })) };
	}
	const issued = await listKeysIssuedBy(trx, person.id, programmeId);
	const deciding = issued.filter(({ key_right }) => key_right === "decide");
	for (const key of deciding) {
		await lowerApiKey(trx, key.id);
		const note = { personId: endedBy, programmeId, action: "key.lowered", subject: key.public_id } as const;
		await noteAudit(trx, { ...note, detail: writeKeyLabel(key) }, nowMs);
	}
	return { ...ended, ...NOTHING_ISSUED, lowered: deciding.length };
}

async function endIssued(
	trx: Db,
	personId: number,
	{ endedBy, programmeId, nowMs, keptKeys }: Required<Omit<AccessEnding, "keepsOneSession">>,
): Promise<Pick<EndedAccess, "keys" | "lowered" | "secrets">> {
	const issued = await listKeysIssuedBy(trx, personId, programmeId);
	const keys = issued.filter(({ public_id }) => !keptKeys.includes(public_id));
	for (const key of keys) {
		const { programme_id: of, public_id: subject } = key;
		await revokeApiKey(trx, of, subject, nowMs);
		const note = { personId: endedBy, programmeId: of, action: "key.revoked", subject } as const;
		await noteAudit(trx, { ...note, detail: writeKeyLabel(key) }, nowMs);
	}
	const secrets = await lockSecretsPreparedBy(trx, personId, programmeId);
	await endSecrets(trx, secrets, nowMs);
	for (const { receiver_id: of, hint } of secrets) {
		const note = { personId: endedBy, programmeId: of, action: "secret.discarded" } as const;
		await noteAudit(trx, { ...note, subject: `rbs_…${hint}` }, nowMs);
	}
	return { keys: keys.length, lowered: 0, secrets: secrets.length };
}

async function noteWithdrawn(
	trx: Db,
	withdrawn: readonly WithdrawnSignInLink[],
	endedBy: number | null,
	why: string,
	nowMs: number,
): Promise<void> {
	for (const { email, purpose, programmeId } of withdrawn) {
		const note = { personId: endedBy, programmeId, action: "link.withdrawn" } as const;
		await noteAudit(trx, { ...note, subject: email, detail: `${purpose.replace("_", " ")}: ${why}` }, nowMs);
	}
}

async function noteStopped(
	trx: Db,
	stopped: readonly Job[],
	endedBy: number | null,
	why: string,
	nowMs: number,
): Promise<void> {
	for (const { programme_id: programmeId, public_id, file_name } of stopped) {
		const about =
			programmeId === null
				? ({ action: "import.stopped", subject: file_name } as const)
				: ({ action: "decisions.stopped", subject: public_id } as const);
		await noteAudit(trx, { ...about, programmeId, personId: endedBy, detail: why }, nowMs);
	}
}

/** Such as "2 sessions and 1 link were ended, and 1 job was stopped"; null: nothing. */
export function sayWhatEnded({ sessions, links, keys, lowered, secrets, jobs }: EndedAccess): string | null {
	const ended = [
		count(sessions, "session"),
		count(links, "link"),
		count(keys, "API key"),
		count(secrets, "prepared secret"),
	].filter((text) => text !== null);
	const isOne = sessions + links + keys + secrets === 1;
	const parts = [
		ended.length === 0 ? null : `${LIST.format(ended)} ${isOne ? "was" : "were"} ended`,
		lowered === 0 ? null : `${count(lowered, "API key")} can no longer approve or reject`,
		jobs === 0 ? null : `${count(jobs, "job")} ${jobs === 1 ? "was" : "were"} stopped`,
	].filter((text) => text !== null);
	return parts.length === 0 ? null : parts.join(", and ");
}

const LIST = new Intl.ListFormat("en-GB");

function count(number: number, noun: string): string | null {
	return number === 0 ? null : `${number} ${noun}${number === 1 ? "" : "s"}`;
}
