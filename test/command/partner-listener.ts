// A partner that listens to its events, and an endpoint on its developer's machine that verifies every request with the
// receiver library.

import { createServer } from "node:http";
import { verifyPartnerCallback } from "@ringback/receiver";
import type { Service } from "../../src/service.ts";
import {
	insertCode,
	insertPartner,
	insertPartnership,
	type Partner,
} from "../../src/store/queries/partners.ts";
import { portOf } from "../support/port-of.ts";

/** Adds a partner with a coupon code, which credits sales to it. */
export async function addListeningPartner(
	{ store, clock }: Pick<Service, "store" | "clock">,
	programmeId: number,
): Promise<{ partner: Partner; code: string }> {
	const created_at_ms = clock.nowMs();
	const code = "LISTENER";
	const partner = await insertPartner(store.db, {
		public_id: "ptn_listener",
		name: "Listener",
		site: "",
		created_at_ms,
	});
	const partnership = await insertPartnership(store.db, {
		public_id: "pts_listener",
		programme_id: programmeId,
		partner_id: partner.id,
		commission_rate: "10",
		terms: "",
		created_at_ms,
	});
	const partnership_id = partnership?.id ?? 0;
	await insertCode(store.db, {
		programme_id: programmeId,
		folded: code,
		code,
		partnership_id,
		created_at_ms,
	});
	return { partner, code };
}

export interface PartnerEndpoint {
	/** Method, path and verification of each request. Ids of conversions are shortened. */
	readonly requests: readonly string[];
	url(path: string): string;
}

export async function startPartnerEndpoint(
	t: { after(clean: () => Promise<void>): void },
	secret: string,
): Promise<PartnerEndpoint> {
	const requests: string[] = [];
	const server = createServer(async (incoming, answer) => {
		const rawBody = Buffer.concat(await incoming.toArray());
		const path = incoming.url ?? "";
		const method = incoming.method === "GET" ? "GET" : "POST";
		const { ok } = await verifyPartnerCallback({ method, path, headers: incoming.headers, rawBody, secret });
		const shownPath = path.replaceAll(/cnv_\w+/g, "cnv");
		requests.push(`${incoming.method} ${shownPath} ${ok ? "verified" : "refused"}`);
		answer.writeHead(204).end();
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	t.after(async () => {
		server.closeAllConnections();
		await new Promise((resolve) => server.close(resolve));
	});
	return { requests, url: (path) => `http://127.0.0.1:${portOf(server)}${path}` };
}
