// The work that follows an erasure. It walks the tables that may name the person or partner in small
// transactions, which also store the position, so that a restart continues there. All tables are walked
// twice, because a process may have begun something before the erasure that it stores after the first walk.

import {
	createEraser,
	createPartnerAuditEraser,
	createPersonAuditEraser,
	type ErasedWords,
	type Eraser,
} from "#core/domain/erasure.ts";
import type { KeyRing } from "#core/domain/key-ring.ts";
import { MINUTE_MS } from "#core/domain/time.ts";
import type { Clock } from "#core/ports.ts";
import { bringRemovedForward } from "#core/store/queries/bring-forward.ts";
import { findPartnerById } from "#core/store/queries/partners.ts";
import { findPartnerReceiver } from "#core/store/queries/receivers.ts";
import type { Db, Store } from "#core/store/store.ts";
import type { AuditEntry } from "#core/store/tables/notices.ts";
import { listPartnerships } from "#modules/partners/store/partnerships.ts";
import {
	eraseAudit,
	eraseCallbacks,
	eraseCredits,
	eraseJobs,
	eraseLinks,
	eraseNotices,
	eraseOpenEntries,
	findSubjectsOfPartner,
	type Position,
	removeMails,
	removeReferences,
} from "../store/erased-rows.ts";
import { advanceErasure, type Erasure, findDueErasure, lockErasure } from "../store/erasures.ts";
import { openWords } from "./erased-words.ts";

export interface ErasureWorkDeps {
	store: Store;
	clock: Clock;
	keyRing: KeyRing;
}

const ROUNDS = 2;
/**
 * Time between the two walks. It is longer than a callback, a batch of a job or the claim of a mail may take.
 */
export const SECOND_ROUND_AFTER_MS = 20 * MINUTE_MS;

interface Work {
	erasure: Erasure;
	words: ErasedWords;
	erase: Eraser;
}

/** Handles one batch after a position. Resolves to the next position, or to null at the end. */
type Step = (trx: Db, work: Work, position: Position) => Promise<Position | null>;

const STEPS: Readonly<Record<Erasure["kind"], readonly Step[]>> = {
	person: [
		(trx, { words }) => removeMails(trx, words.emails),
		(trx, { words }) => removeReferences(trx, words.emails),
		(trx, { erase }, position) => eraseNotices(trx, erase, position),
		(trx, { erase }, position) => eraseJobs(trx, erase, position),
		erasePersonFromAudit,
	],
	partner: [
		removePartnerReferences,
		(trx, { words }) => removeMails(trx, words.emails),
		(trx, { erasure }, position) => eraseLinks(trx, erasure.subject_id, position),
		(trx, { erasure }, position) => eraseCredits(trx, erasure.subject_id, position),
		(trx, { erasure }, position) => eraseOpenEntries(trx, erasure.subject_id, position),
		eraseCallbacksOfPartner,
		(trx, { erase }, position) => eraseNotices(trx, erase, position),
		(trx, { erase }, position) => eraseJobs(trx, erase, position),
		erasePartnerFromAudit,
	],
};

/** Works on all erasures that are due. */
export async function workOffErasures(deps: ErasureWorkDeps, isStopping: () => boolean): Promise<void> {
	while (!isStopping()) {
		const erasure = await findDueErasure(deps.store.db, deps.clock.nowMs());
		if (erasure === undefined) return;
		await finishRound(deps, erasure, isStopping);
	}
}

/** Works on an erasure to the end of its present round. */
export async function finishRound(
	deps: ErasureWorkDeps,
	erasure: Erasure,
	isStopping: () => boolean,
): Promise<void> {
	const { store, clock } = deps;
	const words = openWords(deps, erasure);
	await cancelCallbacks(deps, erasure, isStopping);
	const erase = createEraser(words);
	let isMore = true;
	while (isMore && !isStopping()) {
		isMore = await store.transact((trx) => doBatch(trx, { words, erase, erasure }, clock.nowMs()));
		await clock.yieldLoop();
	}
}

/** Does the next batch. Resolves to false at the end of the round, also if another process has ended it. */
async function doBatch(trx: Db, { words, erase, erasure }: Work, nowMs: number): Promise<boolean> {
	const present = await lockErasure(trx, erasure.id);
	if (present === undefined || present.round !== erasure.round || present.due_at_ms === null) return false;
	const steps = STEPS[present.kind];
	const step = steps[present.step];
	if (step !== undefined) {
		const next = await step(trx, { words, erase, erasure }, present.position);
		const position = next === null ? { step: present.step + 1, position: "" } : { position: next };
		await advanceErasure(trx, present, position);
		return true;
	}
	const isLast = present.round === ROUNDS;
	await advanceErasure(
		trx,
		present,
		isLast
			? { due_at_ms: null, finished_at_ms: nowMs, sealed_words: null }
			: { round: present.round + 1, step: 0, due_at_ms: nowMs + SECOND_ROUND_AFTER_MS },
	);
	return false;
}

/** Lets the engine cancel the partner's callbacks that still wait for an attempt. */
async function cancelCallbacks(
	{ store, clock }: ErasureWorkDeps,
	{ kind, subject_id: partnerId }: Erasure,
	isStopping: () => boolean,
): Promise<void> {
	const receiver = kind === "partner" ? await findPartnerReceiver(store.db, partnerId) : undefined;
	if (receiver === undefined) return;
	await bringRemovedForward(store, clock, receiver.receiver_id, () => !isStopping());
}

async function eraseCallbacksOfPartner(
	trx: Db,
	{ erasure }: Work,
	position: Position,
): Promise<Position | null> {
	const receiver = await findPartnerReceiver(trx, erasure.subject_id);
	return receiver === undefined ? null : eraseCallbacks(trx, receiver.receiver_id, position);
}

async function removePartnerReferences(trx: Db, { erasure, words }: Work): Promise<null> {
	const partnerships = await listPartnerships(trx, "partner_id", [erasure.subject_id]);
	const ids = partnerships.map(({ public_id }) => public_id);
	await removeReferences(trx, [erasure.public_id, ...ids, ...words.codes]);
	return null;
}

function erasePersonFromAudit(
	trx: Db,
	{ erasure, words }: Work,
	position: Position,
): Promise<Position | null> {
	const erase = createPersonAuditEraser(words);
	const change = async (entries: readonly AuditEntry[]) =>
		entries.map((entry) => {
			const isByPerson = entry.person_id === erasure.subject_id;
			return { ...erase(entry, isByPerson), address: isByPerson ? null : entry.address };
		});
	return eraseAudit(trx, change, position);
}

async function erasePartnerFromAudit(trx: Db, { erasure, words }: Work, position: Position) {
	const partner = await findPartnerById(trx, erasure.subject_id);
	if (partner === undefined) throw new Error("partners are never deleted");
	const erase = createPartnerAuditEraser(words);
	const change = async (entries: readonly AuditEntry[]) => {
		const asked = entries.flatMap(({ subject }) => subject ?? []);
		const subjects = await findSubjectsOfPartner(trx, partner, asked);
		return entries.map((entry) => erase(entry, subjects.has(entry.subject ?? "")));
	};
	return eraseAudit(trx, change, position);
}
