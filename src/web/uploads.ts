// The guard of forms that bring a file. Who may send one is known before it is read; it is streamed to a disk, a few
// at a time, and gone when the request has been answered.

import type { Next } from "hono";
import { MEGABYTE } from "../domain/bytes.ts";
import { fault, type Result, succeed } from "../domain/fault.ts";
import type { Clock, TemporaryFiles } from "../ports.ts";
import type { WebDeps } from "./deps.ts";
import type { Upload, WebContext } from "./env.ts";
import { answerError } from "./error-page.ts";
import { type FileBounds, maxUploadBytes, type Receipt, receiveFile, tooLarge } from "./receive-file.ts";
import { createSlots, type SlotLimits } from "./slots.ts";
import { viewerOf } from "./viewer.ts";

/**
 * What is refused is first read to its end and thrown away: a browser that is still sending would show that the
 * connection broke, and not what is wrong. Whoever sends many such is answered and hung up on, because what is read
 * leaves its mark on the memory, too, until it is cleaned up.
 */
const DISCARD_LIMITS: SlotLimits = { aPerson: 1, inAll: 2, pauseMs: 5_000 };
const MAX_DISCARDED_BYTES = 64 * MEGABYTE;

/** Asked where a file is taken. Everything else is an ordinary form, with the bounds of one. */
export function isUpload(c: WebContext): boolean {
	return c.req.method === "POST" && /^multipart\/form-data\b/i.test(c.req.header("content-type") ?? "");
}

export type UploadDeps = Pick<WebDeps, "temporaryFiles" | "clock">;
export type UploadGuard = (c: WebContext, next: Next) => Promise<Response | undefined>;

/** Behind the sign-in and the right to the programme. Hands the file on as `upload`, or why there is none. */
export function createUploadGuard(
	{ temporaryFiles: files, clock }: UploadDeps,
	bounds: FileBounds,
): UploadGuard {
	const slots = createSlots(bounds.slots, clock);
	const discards = createSlots(DISCARD_LIMITS, clock);
	const oneByOne = createQueue(clock);
	return async (c, next) => {
		const { personId } = viewerOf(c);
		const body = openBody(c);
		// Refused by what it says of itself, where it says so: nothing of it is parsed then.
		const isTooLarge = Number(c.req.header("content-length") ?? 0) > maxUploadBytes(bounds);
		const giveBack = isTooLarge ? undefined : slots.take(personId);
		let receipt = isTooLarge ? tooLarge(bounds) : tooMany(bounds);
		try {
			if (giveBack !== undefined) receipt = await receive(c, body, files, bounds);
			if (receipt.kind !== "file") {
				giveBack?.();
				const endDiscard = discards.take(personId);
				if (endDiscard === undefined) c.header("connection", "close");
				else await discard(body).finally(endDiscard);
			}
			if (receipt.kind === "foreign") return await answerError(c, receipt.code);
			c.set("upload", toUpload(receipt));
			await (receipt.kind === "file" ? next() : oneByOne(next));
			return undefined;
		} finally {
			if (receipt.kind === "file") await receipt.file.remove();
			giveBack?.();
		}
	};
}

function receive(c: WebContext, body: Body, files: TemporaryFiles, bounds: FileBounds): Promise<Receipt> {
	const type = c.req.header("content-type") ?? "";
	return receiveFile(body, { type, bounds, files, isOwn: (token) => c.get("formGuard").isOwn(c, token) });
}

function toUpload(receipt: Exclude<Receipt, { kind: "foreign" }>): Result<Upload | null> {
	switch (receipt.kind) {
		case "file":
			return succeed({
				name: showableName(receipt.name),
				bytes: receipt.bytes,
				read: () => receipt.file.read(),
			});
		case "none":
			return succeed(null);
		case "refused":
			return { ok: false, fault: receipt.fault };
		default:
			return receipt satisfies never;
	}
}

const MAX_NAME_CHARACTERS = 120;

/** Bounded, and nothing that a database refuses to store. */
function showableName(name: string): string {
	return name
		.slice(0, MAX_NAME_CHARACTERS)
		.toWellFormed()
		.replace(/\p{Cc}/gu, "");
}

function tooMany({ slots: { aPerson, inAll } }: FileBounds): Receipt {
	const detail = `Too many files are being uploaded at once: ${aPerson} by one person, or ${inAll} in all. Wait a few seconds, then upload this one again.`;
	return { kind: "refused", fault: fault("too_many_uploads", detail, "file") };
}

/**
 * One after the other, with time for other requests in between: thirty pages that say no, made in one go, would keep
 * all others waiting for a tenth of a second.
 */
function createQueue(clock: Pick<Clock, "yieldLoop">): (run: () => Promise<void>) => Promise<void> {
	let last: Promise<void> = Promise.resolve();
	return (run) => {
		const done = last.then(run);
		last = done.catch(() => undefined).then(() => clock.yieldLoop());
		return done;
	};
}

type Body = AsyncIterator<Uint8Array>;

/**
 * Opened when somebody reads it, and not before. As it comes from the socket: the request's own stream would copy it.
 * Never closed, because that would break the connection that the answer goes over.
 */
function openBody(c: WebContext): Body {
	let reader: Body | undefined;
	return {
		next() {
			reader ??= c.env?.incoming?.[Symbol.asyncIterator]?.() ?? c.req.raw.body?.[Symbol.asyncIterator]();
			return reader?.next() ?? Promise.resolve({ done: true, value: undefined });
		},
	};
}

async function discard(body: Body): Promise<void> {
	try {
		for (let bytes = 0; bytes < MAX_DISCARDED_BYTES; ) {
			const { done, value } = await body.next();
			if (done === true) return;
			bytes += value.length;
		}
	} catch {
		// Whoever has hung up waits for no answer.
	}
}
