// Signed callbacks for a shop's own tests.

import type { PostbackEvent } from "../event.ts";
import { demand, demandBrand } from "../option-checks.ts";
import { readSecrets, type Secrets } from "../secrets.ts";
import { writeCallback } from "../sign-callback.ts";

export type CallbackOptions = {
	/** Signing secret that the receiver has. If there are several, the first one signs. */
	readonly secret: Secrets;
	/** Path and query of the shop's Postback URL. Default: `/postback`. */
	readonly path?: string | undefined;
	/** Brand in the header names, `X-<Brand>-Signature`. Default: `Service`. */
	readonly brand?: string | undefined;
	/** Time of the attempt as a Date or milliseconds. Default: now. */
	readonly now?: Date | number | undefined;
	/** Nonce of the attempt. Default: 32 random hex digits. */
	readonly nonce?: string | undefined;
};

/** A callback as the service sends it. */
export type SignedCallback = {
	readonly method: "POST";
	readonly path: string;
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string;
};

/** Signs an event as the service does. Send the result to the receiver unchanged, by HTTP or with `receive`. */
export async function signCallback(event: PostbackEvent, options: CallbackOptions): Promise<SignedCallback> {
	const { path = "/postback", brand = "Service" } = options;
	const [secret = ""] = readSecrets(options.secret);
	demandBrand(brand);
	demand(path.startsWith("/"), "path must be the path and query of the Postback URL, such as /postback.");
	const nowMs = Number(options.now ?? Date.now());
	const signing = { secret, brand, path, nowMs, nonce: options.nonce };
	const { headers, body } = await writeCallback(event.event, event, signing);
	return { method: "POST", path, headers, body };
}

const statuses: Readonly<Record<string, string>> = {
	"conversion.recorded": "RECORDED",
	"conversion.approved": "APPROVED",
	"conversion.rejected": "REJECTED",
	"conversion.reversed": "REVERSED",
};

/**
 * Returns a complete event, `conversion.recorded` by default. The status and the reason fit the name of the event
 * unless `overrides` says otherwise.
 */
export function exampleEvent(overrides: Partial<PostbackEvent> = {}): PostbackEvent {
	const { event = "conversion.recorded" } = overrides;
	const hasReason = event === "conversion.rejected" || event === "conversion.reversed";
	const example: PostbackEvent = {
		event,
		conversionId: "cnv_01KJ9XMZ00ABCDEFGHJKMNPQRS",
		orderId: "ORDER-1001",
		programId: "prg_01KJ9V5C00ABCDEFGHJKMNPQRS",
		status: statuses[event] ?? "RECORDED",
		eventType: "SALE",
		basketValue: "129.90",
		commission: "10.39",
		networkFee: "3.25",
		currency: "EUR",
		reason: hasReason ? "RETURN" : null,
		test: false,
		occurredAt: "2026-03-01T11:30:00.000Z",
		sentAt: "2026-03-01T11:30:01.040Z",
	};
	return { ...example, ...overrides };
}
