// The events of a receiver as a stream of server-sent events, for `ringback listen`. Shops and partners follow their
// events in the same way. They differ in how events are read, in their bodies, and in how the caller is authenticated.

import type { EventName } from "../domain/event-name.ts";
import type { Result } from "../domain/fault.ts";
import type { ReceiverId } from "../domain/receiver.ts";
import { openSecret } from "../domain/sealing.ts";
import type { ComposedCallback } from "../domain/sent-request.ts";
import { canonicalString, sha256Hex, sign, signingKey } from "../domain/signature.ts";
import { SECOND_MS } from "../domain/time.ts";
import { noteListener, noteListenerGone } from "../store/queries/local-answers.ts";
import { findActiveSecret } from "../store/queries/signing-secrets.ts";
import type { SignedEvent } from "./answers.ts";
import type { AppDeps } from "./deps.ts";
import type { EventStreams } from "./event-streams.ts";

/**
 * Minimum time between two updates of the time at which a listener was last seen. It is shorter than the time
 * between two heartbeats.
 */
const NOTE_MS = 10 * SECOND_MS;

export interface FollowedEvent<Position> {
	event: EventName;
	/** The JSON body of the event. */
	data: string;
	/** The callback that the message's signature covers. */
	callback: ComposedCallback;
	/** Position after this event. */
	position: Position;
}

export interface FollowedBatch<Position> {
	events: readonly FollowedEvent<Position>[];
	position: Position;
	hasMore: boolean;
}

/** The events that one stream follows. */
export interface Followed<Position> {
	receiverId: ReceiverId;
	/** Data of the first message. */
	greeting: object;
	start: Position;
	/** Time at which the listener was last noted. */
	notedAtMs: number;
	writeCursor(position: Position): string;
	read(after: Position): Promise<FollowedBatch<Position>>;
	/** Returns the `signed` field of a message. */
	describeSigned(signed: SignedEvent, callback: ComposedCallback): object;
	/** Returns whether the reader is still allowed to read. */
	isAllowed(): Promise<boolean>;
	/** Closes the reader's connection. */
	hangUp(): void;
}

/** Opens a stream and returns it as an answer. It is refused if there is no room for another stream. */
export function followEvents<Position>(
	deps: AppDeps,
	streams: EventStreams,
	followed: Followed<Position>,
): Result<Response> {
	const { store, clock } = deps;
	const { receiverId, start } = followed;
	let position = start;
	let { notedAtMs } = followed;
	const idLine = (at: Position): string => `id: ${followed.writeCursor(at)}\n`;
	return streams.answer(receiverId, {
		opening: `event: listening\n${idLine(start)}data: ${JSON.stringify(followed.greeting)}\n\n`,
		async look() {
			const batch = await followed.read(position);
			if (batch.events.length === 0 && !batch.hasMore) {
				position = batch.position;
				return null;
			}
			return {
				hasMore: batch.hasMore,
				async compose() {
					position = batch.position;
					const signEvent = batch.events.length === 0 ? null : await findEventSigner(deps, receiverId);
					const messages = batch.events.map(({ event, data, callback, position: after }) => {
						const signed = signEvent && followed.describeSigned(signEvent(callback), callback);
						const signedLine = signed === null ? "" : `signed: ${JSON.stringify(signed)}\n`;
						return `event: ${event}\n${idLine(after)}${signedLine}data: ${data}\n\n`;
					});
					// The text is empty if the batch contains only events of other receivers. Any output would reveal how
					// much they sell.
					return messages.join("");
				},
			};
		},
		isAllowed: () => followed.isAllowed(),
		async onAlive() {
			const nowMs = clock.nowMs();
			if (nowMs - notedAtMs < NOTE_MS) return;
			notedAtMs = nowMs;
			await noteListener(store.db, receiverId, nowMs);
		},
		async onHungUp() {
			if (streams.countOf(receiverId) > 0) return;
			await noteListenerGone(store.db, receiverId, clock.nowMs());
		},
		// The heartbeat contains the current position, so that a client that reconnects does not read the same
		// events again.
		heartbeat: () => `: still here\n${idLine(position)}\n`,
		hangUp: followed.hangUp,
	});
}

/**
 * Path that the signature of an event covers. A callback's signature covers the path of the saved URL instead. All
 * examples use this path.
 */
export const SIGNED_PATH = "/postback";
const NONCE_BYTES = 16;

/**
 * Returns a function that signs an event like its callback, so that a listener without an endpoint can check that its
 * secret is the one that callbacks are signed with. Returns null if no secret is active, or if it cannot be opened.
 */
async function findEventSigner(
	{ store, clock, random, keyRing }: AppDeps,
	receiverId: ReceiverId,
): Promise<((callback: ComposedCallback) => SignedEvent) | null> {
	const active = await findActiveSecret(store.db, receiverId);
	const secret = active === undefined ? null : openSecret(keyRing, receiverId, active.sealed);
	if (secret === null) return null;
	const key = signingKey(secret);
	return ({ method, target, body }) => {
		const timestamp = String(Math.floor(clock.nowMs() / 1_000));
		const nonce = random.hex(NONCE_BYTES);
		const canonical = canonicalString(method, target, timestamp, nonce, sha256Hex(body));
		return { path: target, timestamp, nonce, signature: sign(key, canonical) };
	};
}
