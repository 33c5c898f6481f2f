// What stands around the browser: the whole service on a SQLite file, a real HTTPS shop, a real mail server.

import { deepEqual } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readConfig } from "../../src/config.ts";
import { type Service, startService } from "../../src/service.ts";
import { type MailServer, startMailServer } from "../notices/mail-server.ts";
import { createTestDatabase } from "../support/databases.ts";
import { createLog, type KeptLog } from "../support/log.ts";
import "../support/quick-passwords.ts";
import { type Shop, startShop } from "../support/shop.ts";

export interface Stage {
	service: Service;
	shop: Shop;
	mail: MailServer;
	log: KeptLog;
	/** Proves on the way that nothing went wrong inside, and that everything was closed. */
	close(): Promise<void>;
}

export interface StageOptions {
	/** Settings as an operator would make them. */
	settings?: Readonly<Record<string, string>>;
}

export async function openStage({ settings = {} }: StageOptions = {}): Promise<Stage> {
	const log = createLog();
	const shop = await startShop();
	const mail = await startMailServer(Date.now);
	const database = await createTestDatabase("SQLite");
	const read = readConfig({
		PORT: "0",
		RINGBACK_METRICS_ADDRESS: "off",
		DATABASE_URL: `sqlite:${database.location}`,
		RINGBACK_SECRET_KEY: randomBytes(32).toString("hex"),
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		SMTP_URL: mail.url,
		MAIL_FROM: "Ringback <ringback@network.example>",
		...settings,
	});
	if (!read.ok) throw new Error(read.problems.join(" "));
	const config = { ...read.config, trustedCa: shop.caPem };
	const service = await startService(config, { log });
	return {
		service,
		shop,
		mail,
		log,
		async close() {
			await service.stop();
			await shop.close();
			await mail.goAway();
			await database.remove();
			deepEqual(
				log.lines.filter(({ level }) => level === "error"),
				[],
			);
		},
	};
}
