// A whole Ringback on the machine's clock and a real SQLite file. The callbacks of its programmes go through
// a TLS front to a plain port, as at a shop. The front passes bytes on unchanged and records a copy.

import { connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { createServer } from "node:tls";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { savePostbackUrl } from "#core/programmes/postback-url.ts";
import { makeCertificates } from "../../demo/certificate.ts";
import type { Service } from "../../src/service.ts";
import { openService } from "../support/open-service.ts";
import { portOf } from "../support/port-of.ts";
import { addAccount, expectValue } from "../support/shop-account.ts";

export type LiveRingback = Awaited<ReturnType<typeof startRingback>>;

const CERTIFICATES = makeCertificates({ names: ["127.0.0.1"] });

export async function startRingback(brand: string) {
	const { caPem: trustedCa } = await CERTIFICATES;
	const { service, close } = await openService({ trustedCa, settings: { RINGBACK_BRAND: brand } });
	return {
		url: service.url,
		openProgramme: () => openProgramme(service),
		stop: close,
	};
}

async function openProgramme(service: Service) {
	const { programme, programmeId, programmeRow: id, apiKey: key, secret } = await addAccount(service);
	const { db } = service.store;
	return {
		key,
		secret,
		/** Returns the stored order IDs, the oldest first. */
		async orderIds() {
			const rows = db
				.selectFrom("conversions")
				.select("order_id")
				.where("programme_id", "=", id)
				.orderBy("id");
			return (await rows.execute()).map((row) => row.order_id);
		},
		async deliveryStates() {
			const rows = db
				.selectFrom("deliveries")
				.select("state")
				.where("receiver_id", "=", programme.receiver_id)
				.orderBy("id");
			return (await rows.execute()).map((row) => row.state);
		},
		/** Sends callbacks through a TLS front to this port from now on. Resolves to the bytes that it passes on. */
		async deliverTo(t: TestContext, port: number, target: string) {
			const front = await openFront(t, port);
			expectValue(
				await savePostbackUrl(service, programmeId, `https://127.0.0.1:${front.port}${target}`, COMMAND_LINE),
			);
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
			// If one side disconnects, the "close" event informs the other one.
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
