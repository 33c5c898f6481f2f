// The demo's two partners as the sender of callbacks sees them. The blog has a program that takes JSON, and the other one
// has a tracker that takes GET postbacks. Both are behind one HTTPS server, which verifies every callback with the
// receiver library.

import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type PartnerVerification, verifyPartnerCallback } from "@ringback/receiver";
import { EVENT_NAMES } from "#core/domain/event-name.ts";
import { succeed } from "#core/domain/fault.ts";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { COMMAND_LINE, SIGNED_IN, transactAs } from "#core/people/actor.ts";
import { savePartnerUrl } from "#core/programmes/postback-url.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import { lockProgramme } from "#core/store/queries/programmes.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { insertPartnerLink } from "#modules/partners/store/partner-links.ts";
import { joinProgramme } from "#modules/partners/use-cases/partnerships.ts";
import { SAMPLE_LINK } from "#modules/partners/use-cases/sample.ts";
import type { Service } from "../src/service.ts";
import { createArrivals } from "./arrivals.ts";
import type { Certificates } from "./certificate.ts";
import { must } from "./must.ts";

export interface PartnerCallback {
	who: "blog" | "tracker";
	method: string;
	path: string;
	body: string;
	verification: PartnerVerification;
}

export interface SamplePartners {
	/** Saves the callback URLs of both partners, which also creates their secrets. */
	connect(service: Service, blog: Partner, programmeId: number): Promise<void>;
	/** Resolves when this many callbacks have arrived in all. */
	waitFor(count: number): Promise<void>;
	close(): Promise<void>;
}

/** Link code of the partner that has a tracker. */
export const TRACKED_LINK_CODE = "sample-tracked";
const BLOG_PATH = "/blog/sales";
const TRACKER_PATH = "/tracker/postback?cid={sub1}&payout={commission}&status={status}&reason={reason}";

export async function startSamplePartners(
	{ certPem, keyPem }: Certificates,
	nowMs: () => number,
	onCallback: (callback: PartnerCallback) => void,
): Promise<SamplePartners> {
	const secrets = { blog: "", tracker: "" };
	const arrivals = createArrivals("callbacks of partners");
	const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
		take(request, response).catch(() => response.destroy());
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;

	async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const rawBody = Buffer.concat(await request.toArray());
		const path = request.url ?? "";
		const who = path.startsWith("/tracker") ? "tracker" : "blog";
		const method = who === "tracker" ? "GET" : "POST";
		const { headers } = request;
		const secret = secrets[who];
		const verification = await verifyPartnerCallback({
			method,
			path,
			headers,
			rawBody,
			secret,
			now: nowMs(),
		});
		response.writeHead(verification.ok ? 204 : 401).end();
		onCallback({ who, method: request.method ?? "", path, body: rawBody.toString("utf8"), verification });
		arrivals.add();
	}

	const save = async (service: Service, partner: Partner, path: string, form: "json" | "get") => {
		const url = { url: `https://127.0.0.1:${port}${path}`, form, events: EVENT_NAMES };
		return must(await savePartnerUrl(service, partner.public_id, url, COMMAND_LINE)).secret ?? "";
	};
	return {
		async connect(service, blog, programmeId) {
			const tracked = await addTrackedPartner(service, programmeId);
			secrets.blog = await save(service, blog, BLOG_PATH, "json");
			secrets.tracker = await save(service, tracked, TRACKER_PATH, "get");
		},
		waitFor: arrivals.waitFor,
		close() {
			return new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			});
		},
	};
}

/** Adds the partner that has a tracker. Its link leads to the same shop as the link of the blog. */
async function addTrackedPartner(service: Service, programmeId: number): Promise<Partner> {
	const { store, clock, random } = service;
	const added = await transactAs<Partner>(store, COMMAND_LINE, SIGNED_IN, async (trx) => {
		const created_at_ms = clock.nowMs();
		const programme = await lockProgramme(trx, programmeId);
		if (programme === undefined) throw new Error("the demo's own programme is missing");
		const public_id = makeId("ptn", created_at_ms, random.bytes(ID_RANDOM_BYTES));
		const partner = await insertPartner(trx, { public_id, name: "Sample tracker", site: "", created_at_ms });
		const joined = await joinProgramme(trx, service, COMMAND_LINE, programme, partner);
		if (!joined.ok) return joined;
		const link = { ...SAMPLE_LINK, code: TRACKED_LINK_CODE, name: "Campaign" };
		await insertPartnerLink(trx, { ...link, partnership_id: joined.value.id, created_at_ms });
		return succeed(partner);
	});
	store.announceChange(programmeId);
	return must(added);
}
