// Ends a person's access. Every use case that takes access away calls this in its own transaction. It ends
// the person's sessions, sign-in links (also those that others made for them), unfinished sign-ins and
// running jobs. If somebody else takes the access away, the API keys and API tokens that the person issued and the
// signing secrets that they prepared end too, because copies of these work without signing in. A new password ends the
// API tokens as well, except those that the person keeps by name, because a thief may have issued them.

import { auditAreaOf, auditSubjectOf, endJobsOf, type Job } from "#modules/jobs/store/jobs.ts";
import { writeKeyLabel } from "../domain/action.ts";
import type { TokenLabel } from "../domain/api-token.ts";
import { grants, type ProgrammeRole } from "../domain/roles.ts";
import { listTokensIssuedBy, revokeApiToken } from "../store/queries/api-tokens.ts";
import { noteAudit } from "../store/queries/audit.ts";
import { listKeysIssuedBy, lowerApiKey, revokeApiKey } from "../store/queries/keys.ts";
import { findPartnersById } from "../store/queries/partners.ts";
import { findPersonById } from "../store/queries/people.ts";
import { endChallenges, endSessions, listSessions } from "../store/queries/sessions.ts";
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
	type PreparedSecretScope,
} from "../store/queries/signing-secrets.ts";
import type { Db } from "../store/store.ts";
import { noteToken } from "./token-entries.ts";

/** Numbers of sessions, links, keys and other things that ended. The audit log has an entry for each link and key. */
export interface EndedAccess {
	sessions: number;
	/**
	 * Number of sign-in links that ended. If the person lost one programme, only its links are counted, because
	 * its owners must not learn about other programmes.
	 */
	links: number;
	keys: number;
	/** Number of API keys that may no longer approve or reject. */
	lowered: number;
	secrets: number;
	tokens: readonly TokenLabel[];
	jobs: number;
}

const NOTHING_ISSUED = { keys: 0, lowered: 0, secrets: 0 } as const;

export interface AccessEnding {
	/** The person who ends the access, for the audit log, or null for the command line. */
	endedBy: number | null;
	/** The programme that the person can no longer use, or null if they lose access to the whole account. */
	programmeId?: number | null;
	/**
	 * The partner for which the person can no longer sign in. The API tokens that they issued for it and the signing
	 * secret that they prepared for it end.
	 */
	partnerId?: number | undefined;
	nowMs: number;
	/** True if the caller continues one session with a new token. That session is not counted as ended. */
	keepsOneSession?: boolean;
	/**
	 * Public ids of API keys that stay valid although the person loses their access. All other keys that they
	 * issued and all secrets that they prepared end. Left out if the person only gets a new password, which
	 * ends no keys and no secrets.
	 */
	keptKeys?: readonly string[];
	/**
	 * Public ids of API tokens that stay valid although the person gets a new password. All other tokens that they issued
	 * end. Left out if the person loses access, because then no token can be kept.
	 */
	keptTokens?: readonly string[] | undefined;
}

export type EndingPreview = Awaited<ReturnType<typeof previewEnding>>;

/** Returns what would end if the person lost access now. The page shows this before it asks for confirmation. */
export async function previewEnding(db: Db, personId: number, programmeId: number | null, nowMs: number) {
	const links = await findSignInLinksOf(db, await requirePerson(db, personId), nowMs);
	return {
		sessions: (await listSessions(db, personId)).length,
		links: links.filter((link) => isShown(link, programmeId)).length,
		secrets: await listSecretsPreparedBy(db, personId, { programmeId }),
		keys: await listKeysIssuedBy(db, personId, programmeId),
		// A person who leaves a programme keeps their API tokens, because tokens belong to the network or to a partner.
		tokens: programmeId === null ? await listTokensIssuedBy(db, personId, { nowMs }) : [],
	};
}

/**
 * Returns whether a link is counted. Owners of a programme must not learn what the person did in other
 * programmes.
 */
function isShown(link: WithdrawnSignInLink, programmeId: number | null): boolean {
	return programmeId === null || link.programmeId === programmeId;
}

/** Ends a person's access. Password and authenticator stay, unless the caller removes them. */
export async function endAccess(
	trx: Db,
	personId: number,
	{
		endedBy,
		programmeId = null,
		partnerId,
		nowMs,
		keepsOneSession = false,
		keptKeys,
		keptTokens,
	}: AccessEnding,
): Promise<EndedAccess> {
	await lockAccess(trx);
	const person = await requirePerson(trx, personId);
	const sessions = (await endSessions(trx, personId)) - (keepsOneSession ? 1 : 0);
	await endChallenges(trx, personId);
	const why = `the access of ${person.email} ended`;
	const withdrawn = await withdrawSignInLinks(trx, person, nowMs);
	await noteWithdrawn(trx, withdrawn, endedBy, why, nowMs);
	const jobs = await endJobsOf(trx, personId, nowMs);
	await noteStopped(trx, jobs, endedBy, why, nowMs);
	let issued: Pick<EndedAccess, "keys" | "lowered" | "secrets"> = NOTHING_ISSUED;
	if (keptKeys !== undefined) {
		issued = await endIssued(trx, personId, { endedBy, programmeId, nowMs, keptKeys });
	} else if (partnerId !== undefined) {
		const secrets = await endPreparedSecrets(trx, personId, { partnerId }, { endedBy, nowMs });
		issued = { ...NOTHING_ISSUED, secrets };
	}
	const losesAll = keptKeys !== undefined && programmeId === null;
	const tokens =
		partnerId !== undefined || losesAll || keptTokens !== undefined
			? await endTokens(trx, personId, { partnerId, keptTokens, endedBy, nowMs })
			: [];
	const shownLinks = withdrawn.filter((link) => isShown(link, programmeId));
	const ended = { sessions, links: shownLinks.length, jobs: jobs.length, ...issued, tokens };
	const detail = sayWhatEnded(ended);
	if (detail !== null) {
		const note = { personId: endedBy, programmeId, action: "access.ended" } as const;
		await noteAudit(trx, { ...note, subject: person.email, detail }, nowMs);
	}
	return ended;
}

/**
 * Ends everything of a person in a programme that their new role does not allow. The person stays signed in.
 */
export async function endRightsIn(
	trx: Db,
	personId: number,
	role: ProgrammeRole,
	{ endedBy, programmeId, nowMs }: { endedBy: number; programmeId: number; nowMs: number },
): Promise<EndedAccess> {
	await lockAccess(trx);
	const { email } = await requirePerson(trx, personId);
	const withdrawn = await withdrawSignInLinksInto(trx, programmeId, personId, nowMs);
	await noteWithdrawn(trx, withdrawn, endedBy, `${email} may no longer invite people`, nowMs);
	const jobs = await endJobsOf(trx, personId, nowMs, programmeId);
	await noteStopped(trx, jobs, endedBy, `${email} may no longer decide`, nowMs);
	const ended = { sessions: 0, links: withdrawn.length, jobs: jobs.length, tokens: [] };
	if (!grants(role, "integrate")) {
		return { ...ended, ...(await endIssued(trx, personId, { endedBy, programmeId, nowMs, keptKeys: [] })) };
	}
	const issued = await listKeysIssuedBy(trx, personId, programmeId);
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
	{
		endedBy,
		programmeId,
		nowMs,
		keptKeys,
	}: Required<Pick<AccessEnding, "endedBy" | "programmeId" | "nowMs" | "keptKeys">>,
): Promise<Pick<EndedAccess, "keys" | "lowered" | "secrets">> {
	const issued = await listKeysIssuedBy(trx, personId, programmeId);
	const keys = issued.filter(({ public_id }) => !keptKeys.includes(public_id));
	for (const key of keys) {
		const { programme_id: keyProgrammeId, public_id: subject } = key;
		await revokeApiKey(trx, keyProgrammeId, subject, nowMs);
		const note = { personId: endedBy, programmeId: keyProgrammeId, action: "key.revoked", subject } as const;
		await noteAudit(trx, { ...note, detail: writeKeyLabel(key) }, nowMs);
	}
	const secrets = await endPreparedSecrets(trx, personId, { programmeId }, { endedBy, nowMs });
	return { keys: keys.length, lowered: 0, secrets };
}

/** Ends the signing secrets that a person prepared and that are not active yet. Returns their number. */
async function endPreparedSecrets(
	trx: Db,
	personId: number,
	scope: PreparedSecretScope,
	{ endedBy, nowMs }: Pick<AccessEnding, "endedBy" | "nowMs">,
): Promise<number> {
	const secrets = await lockSecretsPreparedBy(trx, personId, scope);
	await endSecrets(trx, secrets, nowMs);
	const partners = await findPartnersById(
		trx,
		secrets.flatMap(({ partner_id }) => partner_id ?? []),
	);
	for (const { programme_id: programmeId, partner_id: partnerId, hint } of secrets) {
		const secret = `rbs_…${hint}`;
		const partner = partners.get(partnerId ?? 0);
		// The entry names the partner as its subject, because that is how the partner's people are found for the mail.
		const about =
			partner === undefined
				? ({ action: "secret.discarded", programmeId, subject: secret } as const)
				: ({ action: "partner.secret_discarded", subject: partner.public_id, detail: secret } as const);
		await noteAudit(trx, { ...about, personId: endedBy }, nowMs);
	}
	return secrets.length;
}

/**
 * Revokes the API tokens that a person issued, either all of them or those for one partner, except tokens that the
 * person has chosen to keep. Returns the revoked tokens.
 */
async function endTokens(
	trx: Db,
	personId: number,
	{
		partnerId,
		keptTokens = [],
		endedBy,
		nowMs,
	}: Pick<AccessEnding, "partnerId" | "keptTokens" | "endedBy" | "nowMs">,
): Promise<readonly TokenLabel[]> {
	const issued = await listTokensIssuedBy(trx, personId, { partnerId, nowMs });
	const tokens = issued.filter(({ public_id }) => !keptTokens.includes(public_id));
	const partners = await findPartnersById(
		trx,
		tokens.flatMap(({ partner_id }) => partner_id ?? []),
	);
	for (const token of tokens) {
		await revokeApiToken(trx, token.partner_id, token.public_id, nowMs);
		await noteToken(trx, endedBy, partners.get(token.partner_id ?? 0) ?? null, token, "revoked", nowMs);
	}
	return tokens;
}

async function requirePerson(db: Db, personId: number) {
	const person = await findPersonById(db, personId);
	if (person === undefined) throw new Error(`there is no person ${personId}`);
	return person;
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
	for (const job of stopped) {
		const about = { action: `${auditAreaOf(job)}.stopped`, subject: auditSubjectOf(job) } as const;
		await noteAudit(trx, { ...about, programmeId: job.programme_id, personId: endedBy, detail: why }, nowMs);
	}
}

/**
 * Describes in a sentence what ended, such as "2 sessions and 1 link were ended, and 1 job was stopped". Returns null
 * if nothing ended.
 */
export function sayWhatEnded(counts: EndedAccess): string | null {
	const { sessions, links, keys, lowered, secrets, jobs } = counts;
	const tokens = counts.tokens.length;
	const ended = [
		count(sessions, "session"),
		count(links, "link"),
		count(keys, "API key"),
		count(secrets, "prepared secret"),
		count(tokens, "API token"),
	].filter((text) => text !== null);
	const isOne = sessions + links + keys + secrets + tokens === 1;
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
