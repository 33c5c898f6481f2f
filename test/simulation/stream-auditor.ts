// Sees all requests as the shops receive them, and compares each with the workload's expectations and with
// the database at that moment.

import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { Outcome } from "#core/domain/verdict.ts";
import type { PostbackRequest } from "#core/ports.ts";
import { demand } from "../support/broken.ts";
import { BODY_FIELDS } from "../support/callback-form.ts";
import { CONTRACT_ATTEMPTS } from "../support/contract-verdict.ts";
import type { OwedBody } from "../support/lifecycle-model.ts";
import { type NetworkAuditor, PRIVATE_ADDRESSES } from "./network.ts";
import type { PartnerReceiver } from "./partner-receivers.ts";
import type { Plan } from "./plan.ts";
import { inForce, type ProgrammeRecord } from "./programme-record.ts";
import type { ServiceProcess } from "./service-process.ts";
import type { Timeline } from "./timeline.ts";

/** The promises that this auditor checks. */
const VERIFIABLE = "6 every request verifies and is fresh";
const ATTEMPTS = "4 at most seven attempts, each at its time";
const OWN_SLOT = "5 one engine owns a slot and stores its own results";

/** One request with its result. */
export interface Sent {
	deliveryId: number;
	run: number;
	receiver: ProgrammeRecord | PartnerReceiver;
	process: ServiceProcess;
	/** Id of the engine that owned the slot when the request was sent. */
	engineId: number;
	/** True time at which the request was sent. */
	sentAtMs: number;
	/** Time of the sender's clock when the request was sent. */
	senderNowMs: number;
	request: PostbackRequest;
	headers: Readonly<Record<string, string>>;
	nonce: string;
	/** Path and query of the request. */
	path: string;
	outcome: Outcome | null;
	/** Time at which the attempt ended. Time for which the sender's machine was suspended meanwhile is left out. */
	endedAtMs: number | null;
}

export interface Expectations {
	/**
	 * Returns the bodies that an event of this conversion may have, one for each possible state of the
	 * conversion.
	 */
	bodiesOf(programme: ProgrammeRecord, eventType: string, orderId: string, event: string): OwedBody[];
}

/**
 * Time within which a changed URL or secret must be used. Engines read both again after a second, and the rest is the
 * time of a pass.
 */
export const SEEN_WITHIN_MS = 1_200;
const DEADLINE_MS = 5_000;
/**
 * Maximum age of a lease at which its engine may send. A silent engine is removed after 15 seconds, and an attempt
 * takes up to five.
 */
const SENDABLE_FOR_MS = 10_000;
/** Maximum difference between a process's clock and the database's clock at which the process relies on the time. */
const SURE_WITHIN_MS = 60_000;

export function createStreamAuditor(site: {
	timeline: Timeline;
	database: DatabaseSync;
	plan: Plan;
	brand: string;
	/** Shops of the programmes, and partners with a URL. */
	receivers: readonly (ProgrammeRecord | PartnerReceiver)[];
	expectations: Expectations;
	/** Returns how long callbacks have been held, or 0 if they are not held. */
	heldForMs(): number;
	attempt(check: () => void): void;
	trace(line: string): void;
}): NetworkAuditor & { readonly sent: readonly Sent[] } {
	const { timeline, plan, brand } = site;
	const sent: Sent[] = [];
	const nonces = new Set<string>();
	const onTheWay = new Set<Sent>();
	const findDelivery = site.database.prepare(
		`select d.id, d.run, d.state, d.receiver_id, d.created_at_ms, q.due_at_ms, q.counted,
				s.engine_id, g.renewed_at_ms
			from conversions c join events e on e.conversion_id = c.id and e.name = ?
			join deliveries d on d.id = e.id left join queue q on q.id = d.id
			join slots s on s.slot = (d.receiver_id * 39) % 64 left join engines g on g.id = s.engine_id
			where c.public_id = ? and d.receiver_id = ?`,
	);

	function checkSend(
		entry: Omit<Sent, "deliveryId" | "run" | "engineId">,
		body: Record<string, unknown>,
	): Sent {
		const { nonce } = entry;
		demand(!nonces.has(nonce), VERIFIABLE, () => `nonce ${nonce} was used before`);
		nonces.add(nonce);
		const [row, ...others] = findDelivery.all(
			String(body["event"]),
			String(body["conversionId"]),
			entry.receiver.receiver_id,
		);
		const what = describe(body);
		demand(row !== undefined, "2 each move creates one event", () => `${what} was sent and is not stored`);
		demand(others.length === 0, "2 each move creates one event", () => `${what} is stored more than once`);
		const sentNow: Sent = {
			...entry,
			deliveryId: Number(row["id"]),
			run: Number(row["run"]),
			engineId: Number(row["engine_id"]),
		};
		checkTime(what, row, sentNow);
		checkHold(what);
		checkOwner(what, row, sentNow);
		checkCancellation(what, row, sentNow);
		checkTarget(what, sentNow);
		return sentNow;
	}

	/**
	 * Checks the time of a request. Whatever the machine's clock shows, nothing may be sent early, with a time that
	 * differs from the database's, or by a process that does not rely on its clock.
	 */
	function checkTime(what: string, row: Record<string, SQLOutputValue>, sentNow: Sent): void {
		const { clockOffsetMs } = sentNow.process;
		const isSure = Math.abs(clockOffsetMs) <= SURE_WITHIN_MS;
		demand(isSure, ATTEMPTS, () => `${what} was sent by a clock that is ${clockOffsetMs} ms off`);
		const earlyMs = Number(row["due_at_ms"] ?? 0) - sentNow.sentAtMs;
		demand(earlyMs <= 0, ATTEMPTS, () => `${what} was sent ${earlyMs} ms early`);
		demand(
			Math.abs(sentNow.senderNowMs - sentNow.sentAtMs) <= 1,
			VERIFIABLE,
			() => `${what} was sent at ${sentNow.sentAtMs} by a clock that shows ${sentNow.senderNowMs}`,
		);
	}

	/**
	 * Checks that no request is sent during a hold. A process that stalls or cannot reach the database may send until
	 * its lease is old.
	 */
	function checkHold(what: string): void {
		const isDisturbed = plan.faults.stall + plan.faults.databaseFailure > 0;
		const heldForMs = site.heldForMs();
		demand(
			heldForMs <= (isDisturbed ? SENDABLE_FOR_MS : 1_000),
			"nothing is sent during a hold",
			() => `${what} was sent when callbacks had been held for ${heldForMs} ms`,
		);
	}

	function checkOwner(what: string, row: Record<string, SQLOutputValue>, sentNow: Sent): void {
		const { state } = row;
		demand(state === "pending", ATTEMPTS, () => `${what} was sent when ${state}`);
		const isEighth = Number(row["counted"]) >= CONTRACT_ATTEMPTS;
		demand(!isEighth, ATTEMPTS, () => `${what} was sent an eighth time`);
		const isOwner = sentNow.process.store.engineIds.has(sentNow.engineId);
		demand(isOwner, OWN_SLOT, () => `${what} was sent by an engine that does not own its slot`);
		const silentMs = sentNow.sentAtMs - Number(row["renewed_at_ms"]);
		demand(
			silentMs <= SENDABLE_FOR_MS,
			OWN_SLOT,
			() => `${what} was sent ${silentMs} ms after the last renewal`,
		);
		for (const other of onTheWay) {
			// The connections of a process end with the process, so requests of dead processes no longer count as in flight.
			const isTwin =
				!other.process.wasKilled &&
				other.deliveryId === sentNow.deliveryId &&
				sentNow.sentAtMs - other.sentAtMs < DEADLINE_MS;
			demand(!isTwin, OWN_SLOT, () => `${what} was on its way twice`);
		}
	}

	function checkCancellation(what: string, row: Record<string, SQLOutputValue>, sentNow: Sent): void {
		// A person requested this later run, so it may go to a URL that was saved again.
		if (sentNow.run > 1) return;
		const owedMs = Number(row["created_at_ms"]);
		const removal = sentNow.receiver.urls.find(({ fromMs, value }) => value === null && fromMs > owedMs);
		const isCancelled = removal !== undefined && removal.fromMs < sentNow.sentAtMs - SEEN_WITHIN_MS;
		demand(
			!isCancelled,
			"requests use the current URL and secret",
			() => `${what} outlived the removal of its URL`,
		);
	}

	function checkTarget(what: string, { process, receiver, sentAtMs, request: { url } }: Sent): void {
		// The limit applies to all processes together. A request that began more than a deadline ago has ended, even if
		// its stalled sender has not noticed.
		const inFlight = [...onTheWay].filter(
			(other) =>
				other.receiver === receiver &&
				!other.process.wasKilled &&
				(other.process === process || sentAtMs - other.sentAtMs < DEADLINE_MS),
		);
		const hasRoom = inFlight.length < plan.capPerProgramme;
		demand(hasRoom, "nothing unexpected happens", () => `${what} exceeds the cap of its receiver`);
		const urls = inForce(receiver.urls, sentAtMs - SEEN_WITHIN_MS, sentAtMs);
		demand(urls.includes(url), "requests use the current URL and secret", () => `${what} went to ${url}`);
	}

	function checkBody({ receiver, senderNowMs, headers }: Sent, body: Record<string, unknown>): void {
		const what = describe(body);
		const isGet = "form" in receiver && receiver.form === "get";
		const fields = Object.keys(body).join();
		const expectedFields = "terms" in receiver ? BODY_FIELDS : PARTNER_BODY_FIELDS;
		demand(
			isGet || fields === expectedFields.join(),
			"the body describes the event as it happened",
			() => `${what} has ${fields}`,
		);
		const names = ["Event", "Timestamp", "Nonce", "Signature"].map((word) => `X-${brand}-${word}`);
		const isPlain =
			Object.keys(headers).join() === [...(isGet ? [] : ["Content-Type"]), "User-Agent", ...names].join() &&
			(isGet || headers["Content-Type"] === "application/json") &&
			headers["User-Agent"] === "service-postback/1" &&
			headers[`X-${brand}-Event`] === body["event"];
		demand(isPlain, VERIFIABLE, () => `${what} has headers ${JSON.stringify(headers)}`);
		const seconds = String(Math.floor(senderNowMs / 1_000));
		const timestamp = headers[`X-${brand}-Timestamp`];
		demand(timestamp === seconds, VERIFIABLE, () => `${what} is stamped ${timestamp}`);
		const sentAt = new Date(senderNowMs).toISOString();
		if (!("terms" in receiver)) {
			const isOwn = body["partnerId"] === receiver.publicId && (isGet || body["sentAt"] === sentAt);
			demand(
				isOwn,
				"the body describes the event as it happened",
				() => `${what} says ${JSON.stringify(body)}`,
			);
			return;
		}
		demand(body["sentAt"] === sentAt, VERIFIABLE, () => `${what} says sentAt ${body["sentAt"]}`);
		const bodies = site.expectations.bodiesOf(
			receiver,
			String(body["eventType"]),
			String(body["orderId"]),
			String(body["event"]),
		);
		const isExpected = bodies.some((expected) =>
			Object.entries(expected).every(([field, value]) => body[field] === value),
		);
		const named = body["programId"] === receiver.publicId && body["currency"] === receiver.terms.currency;
		demand(
			isExpected && named,
			"the body describes the event as it happened",
			() => `${what} says ${JSON.stringify(body)} where ${JSON.stringify(bodies)} is owed`,
		);
	}

	return {
		sent,
		onSend(process, request) {
			const headers = readHeaders(request.headers);
			const senderNowMs = process.clock.nowMs();
			const { host, origin } = new URL(request.url);
			const path = request.getTarget ?? request.url.slice(origin.length);
			const body = readFields(request, path);
			const sleptBeforeMs = process.sleptMs;
			let entry: Sent | undefined;
			site.trace(`send ${process.number} ${origin}${path} ${request.headers.join(" ")} ${request.body}`);
			site.attempt(() => {
				const receiver = site.receivers.find(({ hosts }) => hosts.includes(host));
				demand(receiver !== undefined, "nothing unexpected happens", () => `${host} belongs to nobody`);
				entry = checkSend(
					{
						process,
						receiver,
						sentAtMs: timeline.nowMs,
						senderNowMs,
						request,
						headers,
						nonce: headers[`X-${brand}-Nonce`] ?? "",
						path,
						outcome: null,
						endedAtMs: null,
					},
					body,
				);
				checkBody(entry, body);
				sent.push(entry);
				onTheWay.add(entry);
			});
			return {
				onDial: (address) =>
					site.attempt(() =>
						demand(
							!PRIVATE_ADDRESSES.includes(address),
							"7 no request goes to a forbidden address",
							() => `${address} was dialled`,
						),
					),
				onOutcome(outcome) {
					site.trace(`outcome ${JSON.stringify(outcome)}`);
					if (entry === undefined) return;
					onTheWay.delete(entry);
					entry.outcome = outcome;
					entry.endedAtMs = timeline.nowMs - (process.sleptMs - sleptBeforeMs);
				},
			};
		},
	};
}

/** Returns the fields of a callback, which are in its body or, for a GET, in its query. */
function readFields({ body, getTarget }: PostbackRequest, path: string): Record<string, unknown> {
	if (getTarget === undefined) return JSON.parse(body) as Record<string, unknown>;
	return Object.fromEntries(new URLSearchParams(path.slice(path.indexOf("?"))));
}

function describe(body: Record<string, unknown>): string {
	return `${body["event"]} of ${body["orderId"] === undefined ? body["conversionId"] : `order ${body["orderId"]}`}`;
}

/** Fields of a JSON callback to a partner, written independently of the product. */
const PARTNER_BODY_FIELDS =
	"event conversionId programId partnerId linkId status eventType basketValue commission currency reason creditedBy sub1 sub2 sub3 test clickedAt occurredAt sentAt".split(
		" ",
	);

function readHeaders(list: readonly string[]): Record<string, string> {
	const headers: Record<string, string> = {};
	for (let index = 0; index < list.length; index += 2) headers[list[index] ?? ""] = list[index + 1] ?? "";
	return headers;
}
