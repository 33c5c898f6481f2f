// A whole Ringback on the machine's own clock and a real SQLite file, with programmes whose callbacks go through
// a TLS front to a plain port, as they do at a shop. The front passes bytes on unchanged and keeps a copy.

import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createServer } from "node:tls";
import { makeCertificates } from "../../demo/certificate.ts";
import { issueKey } from "../../src/accounts/keys.ts";
import { openProgramme as openFor } from "../../src/accounts/open-programme.ts";
import { createPerson } from "../../src/accounts/people.ts";
import { savePostbackUrl } from "../../src/accounts/postback-url.ts";
import { readConfig } from "../../src/config.ts";
import { type Service, startService } from "../../src/service.ts";
import { createLog } from "../support/log.ts";
import { portOf } from "../support/port-of.ts";
import { expectValue } from "../support/shop-programme.ts";

export interface LiveProgramme {
	readonly key: string;
	readonly secret: string;
	/** Order ids as they are stored, the oldest first. */
	orderIds(): Promise<string[]>;
	deliveryStates(): Promise<string[]>;
	/** From now on callbacks go through a TLS front to this port; resolves to the bytes it passes on. */
	deliverTo(t: TestContext, port: number, target: string): Promise<Buffer[]>;
}

export interface LiveRingback {
	readonly url: string;
	openProgramme(): Promise<LiveProgramme>;
	stop(): Promise<void>;
}

const CERTIFICATES = makeCertificates({ names: ["127.0.0.1"] });

export async function startRingback(brand: string): Promise<LiveRingback> {
	const folder = mkdtempSync(join(tmpdir(), "ringback-live-"));
	const read = readConfig({
		DATABASE_URL: `sqlite:${join(folder, "ringback.db")}`,
		PORT: "0",
		RINGBACK_METRICS_ADDRESS: "off",
		RINGBACK_BRAND: brand,
		RINGBACK_SECRET_KEY: randomBytes(32).toString("hex"),
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
	});
	if (!read.ok) throw new Error(read.problems.join(" "));
	const { caPem } = await CERTIFICATES;
	const service = await startService({ ...read.config, trustedCa: caPem }, { log: createLog() });
	return {
		url: service.url,
		openProgramme: () => openProgramme(service),
		async stop() {
			await service.stop();
			rmSync(folder, { recursive: true });
		},
	};
}

async function openProgramme(service: Service): Promise<LiveProgramme> {
	const ownerEmail = `${randomBytes(6).toString("hex")}@shop.example`;
	expectValue(await createPerson(service, { email: ownerEmail, role: "owner" }));
	const terms = { currency: "EUR", commissionRate: "8", feeRate: "2.5", approvalDays: 30, parksPixels: true };
	const opened = expectValue(await openFor(service, null, { name: "Shop", ownerEmail, ...terms }));
	const { id, public_id } = opened.programme;
	const { key, secret } = expectValue(await issueKey(service, public_id));
	const { db } = service.store;
	return {
		key,
		secret: secret ?? "",
		async orderIds() {
			const rows = db
				.selectFrom("conversions")
				.select("order_id")
				.where("programme_id", "=", id)
				.orderBy("id");
			return (await rows.execute()).map((row) => row.order_id);
		},
		async deliveryStates() {
			const rows = db.selectFrom("deliveries").select("state").where("programme_id", "=", id).orderBy("id");
			return (await rows.execute()).map((row) => row.state);
		},
		async deliverTo(t, port, target) {
			const front = await openFront(t, port);
			expectValue(await savePostbackUrl(service, public_id, `https://127.0.0.1:${front.port}${target}`));
			return front.passed;
		},
	};
}

async function openFront(t: TestContext, port: number): Promise<{ port: number; passed: Buffer[] }> {
	const { certPem, keyPem } = await CERTIFICATES;
	const sockets = new Set<Socket>();
	const passed: Buffer[] = [];
	const server = createServer({ cert: certPem, key: keyPem }, (outer) => {
		const inner = connect(port, "127.0.0.1");
		for (const [one, other] of [
			[outer, inner],
			[inner, outer],
		] as const) {
			sockets.add(one);
			one.on("close", () => {
				sockets.delete(one);
				other.destroy();
			});
			// Whoever hangs up first, the other side is told by "close".
			one.on("error", () => undefined);
			one.pipe(other);
		}
		outer.on("data", (bytes: Buffer) => passed.push(bytes));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	t.after(async () => {
		const closed = new Promise((resolve) => server.close(resolve));
		for (const socket of sockets) socket.destroy();
		await closed;
	});
	return { port: portOf(server), passed };
}
