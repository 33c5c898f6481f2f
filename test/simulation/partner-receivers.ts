// Simulates partners that receive callbacks. Two partners have a callback URL from the start, one for JSON and one for
// GET with macros. Their servers behave as badly as those of shops. The auditor compares the events that partners are
// sent with the moves and credits in the database.

import type { DatabaseSync } from "node:sqlite";
import type { KeyRing } from "#core/domain/key-ring.ts";
import { parseMacroUrl } from "#core/domain/macro-url.ts";
import { ALL_EVENTS, type CallbackForm, type ReceiverId } from "#core/domain/receiver.ts";
import { SEALING_IV_BYTES, sealSecret } from "#core/domain/sealing.ts";
import { setPassword } from "#core/store/queries/passwords.ts";
import { insertPerson } from "#core/store/queries/people.ts";
import { insertPartnerReceiver, lockPartnerReceiver, setEndpoint } from "#core/store/queries/receivers.ts";
import { sealingKeyIn } from "#core/store/queries/sealing-key.ts";
import { insertSecret } from "#core/store/queries/signing-secrets.ts";
import type { Store } from "#core/store/store.ts";
import { demand } from "../support/broken.ts";
import { randomPort, type SeededRandom } from "../support/seeded-random.ts";
import type { ReceiverRecord } from "./programme-record.ts";

const ONE_EVENT = "2 each move creates one event";

/** Query of the GET form, with every field that the auditor needs to find the event. */
const MACROS =
	"event={event}&conversionId={conversionId}&partnerId={partnerId}&sub1={sub1}&sub3={sub3}&test={test}&commission={commission}";

export interface PartnerReceiver extends ReceiverRecord {
	form: CallbackForm;
}

/** Gives the partners receivers. The first gets JSON, the second gets GET, and the others get nothing. */
export async function openPartnerReceivers(
	store: Store,
	partners: readonly { id: number; publicId: string }[],
	random: SeededRandom,
	keyRing: KeyRing,
	nowMs: number,
): Promise<PartnerReceiver[]> {
	const opened: PartnerReceiver[] = [];
	for (const [index, form] of (["json", "get"] as const).entries()) {
		const partner = partners[index];
		if (partner === undefined) continue;
		const host = `partner-${index}.example`;
		const url = form === "json" ? `https://${host}/hook?a=1` : `https://${host}/postback?${MACROS}`;
		if (form === "get" && !parseMacroUrl(url).ok) throw new Error("the URL of the partner is not valid");
		const secret = `rbs_${randomPort(random).hex(32)}`;
		const email = `partner-${index}@partner.example`;
		const receiverId = await store.transact(async (trx) => {
			await insertPartnerReceiver(trx, partner.id);
			const receiver = await lockPartnerReceiver(trx, partner.id);
			if (receiver === undefined) throw new Error("a receiver was not stored");
			await setEndpoint(trx, receiver, { url, form, events: ALL_EVENTS }, nowMs);
			const key = await sealingKeyIn(trx, keyRing);
			await insertSecret(trx, {
				public_id: `sec_${partner.publicId}`,
				receiver_id: receiver.receiver_id,
				sealed: sealSecret(key, receiver.receiver_id, secret, random.bytes(SEALING_IV_BYTES)),
				hint: secret.slice(-4),
				created_at_ms: nowMs,
				activated_at_ms: nowMs,
				prepared_by: null,
			});
			const person = {
				public_id: `per_${partner.publicId}`,
				email,
				kind: "shop",
				created_at_ms: nowMs,
			} as const;
			const inserted = await insertPerson(trx, { ...person, mails_sales: "none" });
			const person_id = inserted?.id ?? 0;
			await setPassword(trx, person_id, "hash", nowMs);
			await trx.insertInto("partner_people").values({ partner_id: partner.id, person_id }).execute();
			return receiver.receiver_id;
		});
		opened.push({
			receiver_id: receiverId,
			publicId: partner.publicId,
			hosts: [host, host],
			ownerEmail: email,
			badDayPercent: random.pick([5, 40, 100]),
			urls: [{ fromMs: nowMs, value: url }],
			secrets: [{ fromMs: nowMs, value: secret }],
			form,
		});
	}
	return opened;
}

interface ToldRow {
	conversionId: number;
	receiverId: ReceiverId;
	/** Names of the events that the partner was sent, in the order of their creation. */
	told: string;
	/** True if the sale is credited to this partner now. */
	isCredited: 0 | 1;
	/** Moves of the conversion, in order. */
	moves: string;
	source: string;
	status: string;
}

/**
 * Checks that each partner with a URL was told what happened to its sales, and nothing about the sales of others.
 * Former credits are not stored, so the check is weaker for a conversion that was credited to several partners. The
 * former partners must have heard that it was reversed, and the present one must know its status.
 */
export function auditPartnerEvents(database: DatabaseSync, receivers: readonly PartnerReceiver[]): void {
	const rows = database
		.prepare(
			`select c.id as conversionId, r.id as receiverId, c.source, c.status,
				coalesce((select group_concat(name, ' ') from (select name from events e
					where e.conversion_id = c.id and e.receiver_id = r.id order by e.id)), '') as told,
				exists (select 1 from credits d join partnerships p on p.id = d.partnership_id
					where d.conversion_id = c.id and p.partner_id = r.partner_id) as isCredited,
				(select group_concat(move, ' ') from (select move from moves m
					where m.conversion_id = c.id order by m.id)) as moves
				from conversions c join receivers r on r.kind = 'partner'`,
		)
		.all() as unknown as ToldRow[];
	const withUrl = new Set<number>(receivers.map(({ receiver_id }) => receiver_id));
	for (const row of rows) {
		const what = `conversion ${row.conversionId} and receiver ${row.receiverId}`;
		const told = row.told.split(" ").filter((name) => name !== "");
		const moves = row.moves.split(" ");
		if (!moves.includes("credit")) {
			const expected = row.isCredited === 1 && withUrl.has(row.receiverId) ? expectedOf(row, moves) : [];
			demand(
				told.join() === expected.join(),
				ONE_EVENT,
				() =>
					`${what}: the partner was told ${told.join() || "nothing"}, and ${expected.join() || "nothing"} is owed`,
			);
			continue;
		}
		const isOver = told.at(-1) === "conversion.reversed";
		const present = `conversion.${row.status.toLowerCase()}`;
		demand(
			row.isCredited === 1 || told.length === 0 || isOver,
			ONE_EVENT,
			() => `${what}: the former partner was told ${told.join()}, and not that the sale was reversed`,
		);
		demand(
			row.isCredited === 0 || isOver || told.includes(present),
			ONE_EVENT,
			() => `${what}: the partner was told ${told.join() || "nothing"}, and the sale is ${row.status}`,
		);
	}
}

/**
 * Returns the events that a conversion with these moves owes to its partner, if no other partner was ever credited.
 */
function expectedOf({ source }: ToldRow, moves: readonly string[]): string[] {
	return moves.flatMap((move) => {
		switch (move) {
			case "record":
				return source === "pixel" ? [] : ["conversion.recorded"];
			case "confirm":
				return ["conversion.recorded"];
			case "approve":
				return ["conversion.approved"];
			case "reject":
				return ["conversion.rejected"];
			case "reverse":
				return ["conversion.reversed"];
			default:
				return [];
		}
	});
}
