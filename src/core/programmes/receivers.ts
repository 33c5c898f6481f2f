// Changes to a receiver of callbacks, which is the shop of a programme or a partner. Both have a URL, signing secrets
// and callbacks that people send again. The use cases take the public id of the programme or partner. This file finds
// the receiver, checks the actor's right and determines the subject of the audit entry.

import type { AuditAction } from "../domain/action.ts";
import { judgeErasedPartner } from "../domain/erasure.ts";
import { type Result, refuse, succeed } from "../domain/fault.ts";
import { isPartnerId } from "../domain/id.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import {
	type Actor,
	forPartner,
	inProgramme,
	type Permission,
	personIdOf,
	transactAs,
} from "../people/actor.ts";
import type { AccountsDeps } from "../people/deps.ts";
import type { Locked } from "../store/locked.ts";
import type { AuditNote } from "../store/queries/audit.ts";
import { findPartner, lockPartner } from "../store/queries/partners.ts";
import { findProgramme, type Programme } from "../store/queries/programmes.ts";
import {
	findPartnerReceiver,
	insertPartnerReceiver,
	lockPartnerReceiver,
	type ReceiverColumns,
} from "../store/queries/receivers.ts";
import type { Db } from "../store/store.ts";
import type { Partner } from "../store/tables/partners.ts";
import { changeLocked } from "./programmes.ts";

export type CalledShop = Pick<Programme, "id" | "receiver_id">;

export interface CalledPartner {
	receiver_id: ReceiverId;
	partner: Pick<Partner, "id" | "public_id">;
}

export type CalledReceiver = CalledShop | CalledPartner;

/** Returns the permission that is needed to change a receiver and to send its callbacks. */
export function receiverPermission(receiver: CalledReceiver): Permission {
	return "partner" in receiver ? forPartner(receiver.partner.id) : inProgramme(receiver.id, "integrate");
}

export interface ReceiverChange {
	trx: Db;
	receiver: Locked<ReceiverColumns>;
	owner: ReceiverOwner;
	/** Person who makes the change, for the audit log, or null if no person makes it. */
	personId: number | null;
	nowMs: number;
}

export interface ReceiverOwner {
	kind: "shop" | "partner";
	id: number;
	public_id: string;
}

/** Returns whether this public id belongs to a programme or partner. */
export async function isKnownOwner(db: Db, publicId: string): Promise<boolean> {
	return ((await findProgramme(db, publicId)) ?? (await findPartner(db, publicId))) !== undefined;
}

/** Actions of changes that are audited for shops and for partners. */
const ACTIONS = {
	urlSaved: { shop: "postback_url.saved", partner: "partner.url_saved" },
	urlRemoved: { shop: "postback_url.removed", partner: "partner.url_removed" },
	secretPrepared: { shop: "secret.prepared", partner: "partner.secret_prepared" },
	secretActivated: { shop: "secret.activated", partner: "partner.secret_activated" },
	secretDiscarded: { shop: "secret.discarded", partner: "partner.secret_discarded" },
	secretEnded: { shop: "secret.ended", partner: "partner.secret_ended" },
} as const satisfies Readonly<Record<string, Readonly<Record<ReceiverOwner["kind"], AuditAction>>>>;

/**
 * Returns the audit entry for a change. A programme's entry names the changed object as its subject. A partner's
 * entry has the partner as its subject, which determines the people who are mailed, and names the object in its
 * detail.
 */
export function noteOn(
	{ owner, personId }: Pick<ReceiverChange, "owner" | "personId">,
	change: keyof typeof ACTIONS,
	{ object, detail }: { object?: string; detail?: string },
): AuditNote {
	if (owner.kind === "shop") {
		const action = ACTIONS[change].shop;
		return { personId, programmeId: owner.id, action, subject: object ?? null, detail: detail ?? null };
	}
	const action = ACTIONS[change].partner;
	return { personId, action, subject: owner.public_id, detail: object ?? detail ?? null };
}

/**
 * Runs a transaction that holds the lock of the programme or partner and checks that the actor may still change its
 * receiver. If a partner has no receiver yet, `addsReceiver` adds one, and without it the change is refused. After
 * the commit, the caches of this process and all engines reload the data that may have changed.
 */
export function changeReceiver<Value>(
	deps: Pick<AccountsDeps, "store" | "clock">,
	ownerPublicId: string,
	actor: Actor,
	work: (change: ReceiverChange) => Promise<Result<Value>>,
	addsReceiver = false,
): Promise<Result<Value>> {
	if (isPartnerId(ownerPublicId)) {
		return changePartnerReceiver(deps, ownerPublicId, actor, work, addsReceiver);
	}
	return changeLocked(deps, ownerPublicId, actor, ({ trx, programme, personId, nowMs }) => {
		const { id, public_id } = programme;
		return work({ trx, receiver: programme, owner: { kind: "shop", id, public_id }, personId, nowMs });
	});
}

async function changePartnerReceiver<Value>(
	{ store, clock }: Pick<AccountsDeps, "store" | "clock">,
	partnerPublicId: string,
	actor: Actor,
	work: (change: ReceiverChange) => Promise<Result<Value>>,
	addsReceiver: boolean,
): Promise<Result<Value>> {
	const partner = await findPartner(store.db, partnerPublicId);
	if (partner === undefined) return refuse("unknown_partner", `There is no partner ${partnerPublicId}.`);
	const { id, public_id } = partner;
	const done = await transactAs(store, actor, forPartner(id), async (trx) => {
		// The lock prevents two people who save the first URL at the same moment from each adding a receiver.
		const locked = await lockPartner(trx, id);
		const judged = locked === undefined ? succeed(true) : judgeErasedPartner(locked);
		if (!judged.ok) return judged;
		const receiver = locked === undefined ? undefined : await lockReceiverOf(trx, id, addsReceiver);
		if (receiver === undefined) {
			return refuse("no_postback_url", "No callback URL was saved for this partner yet. Save one first.");
		}
		const owner: ReceiverOwner = { kind: "partner", id, public_id };
		return work({ trx, receiver, owner, personId: personIdOf(actor), nowMs: clock.nowMs() });
	});
	if (!done.ok) return done;
	const receiver = await findPartnerReceiver(store.db, id);
	if (receiver !== undefined) store.announceTargetChange(receiver.receiver_id);
	return done;
}

/** Locks the receiver of a partner whose lock the caller holds. */
async function lockReceiverOf(
	trx: Db,
	partnerId: number,
	addsReceiver: boolean,
): Promise<Locked<ReceiverColumns> | undefined> {
	const existing = await lockPartnerReceiver(trx, partnerId);
	if (existing !== undefined || !addsReceiver) return existing;
	await insertPartnerReceiver(trx, partnerId);
	return lockPartnerReceiver(trx, partnerId);
}
