// `npm run demo` shows the product in one command. It starts the service on a temporary SQLite file, a sample shop and
// two sample partners, lets conversions happen, and prints each callback as the shop or partner received and verified it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createClient } from "@ringback/receiver";
import { parseRange } from "#core/domain/address.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { invite } from "#core/people/invitations.ts";
import { issueKey } from "#core/programmes/keys.ts";
import { changeNetwork } from "#core/programmes/network.ts";
import { openProgramme } from "#core/programmes/open-programme.ts";
import { savePostbackUrl } from "#core/programmes/postback-url.ts";
import type { Store } from "#core/store/store.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { CLICK_PARAMETER } from "#core/web/examples.ts";
import { addSamplePartner, SAMPLE_LINK } from "#modules/partners/use-cases/sample.ts";
import { readConfig } from "../src/config.ts";
import { COPY_WINDOW_MS } from "../src/service/stop-signals.ts";
import { type Service, startService } from "../src/service.ts";
import { makeCertificates } from "./certificate.ts";
import { createDemoClock } from "./demo-clock.ts";
import { must } from "./must.ts";
import {
	describeCallback,
	describeCallbackAsJson,
	describePartnerCallback,
	describePartnerCallbackAsJson,
} from "./print.ts";
import { startSamplePartners, TRACKED_LINK_CODE } from "./sample-partners.ts";
import { startSampleShop } from "./sample-shop.ts";
import { issueSampleStatement } from "./sample-statement.ts";
import { SHOP_NAME, startShopPage } from "./shop-page.ts";
import { tellStory } from "./story.ts";

const HELP = `npm run demo [-- [--once] [--json]]

Shows Ringback at work: a service on a temporary database, a sample shop, two partners, and every
callback that they receive.
  --once   stop after the story instead of staying up
  --json   one JSON line per thing instead of text
  --help   this`;

const wanted = new Set(process.argv.slice(2));
const unknown = [...wanted].filter((option) => !["--once", "--json", "--help", "-h"].includes(option));

if (unknown.length > 0) {
	process.stderr.write(`${unknown.join(" ")} is not an option here.\n\n${HELP}\n`);
	process.exitCode = 2;
} else if (wanted.has("--help") || wanted.has("-h")) process.stdout.write(`${HELP}\n`);
else await demonstrate(wanted.has("--once"), wanted.has("--json"));

async function demonstrate(once: boolean, asJson: boolean): Promise<void> {
	const print = (line: string): void => void process.stdout.write(`${line}\n`);
	const say = asJson ? () => undefined : print;
	const folder = mkdtempSync(join(tmpdir(), "ringback-demo-"));
	const remove = () => rmSync(folder, { recursive: true, force: true });
	// The folder is removed however the process ends, even after a second Ctrl-C.
	process.once("exit", remove);
	// Signals are handled from the start, because Ctrl-C during the demo must also clean up.
	const interrupted = untilInterrupted();
	const clock = createDemoClock();
	const certificates = await makeCertificates({ names: ["127.0.0.1", "localhost"] });
	const shop = await startSampleShop(certificates, clock.nowMs, (callback) =>
		print(asJson ? describeCallbackAsJson(callback) : describeCallback(callback)),
	);
	const partners = await startSamplePartners(certificates, clock.nowMs, (callback) =>
		print(asJson ? describePartnerCallbackAsJson(callback) : describePartnerCallback(callback)),
	);
	const page = await startShopPage();
	let service: Service | undefined;
	try {
		service = await startDemoService(folder, certificates.caPem, page.url, clock);
		const { store } = service;
		const { apiKey, secret, partner, programmeId, ...links } = await openSampleProgramme(service, shop.url);
		await partners.connect(service, partner, programmeId);
		const clickUrl = `${page.url}/c/${SAMPLE_LINK.code}`;
		shop.secret = secret;
		if (asJson) print(JSON.stringify({ type: "secret", secret }));
		say(`Ringback listens on ${service.url}, the sample shop on ${shop.url}`);
		say(`Buyers open ${page.url}; in this demo partners' links to ${SHOP_NAME} lead there`);
		say(`The programme's signing secret (shown once): ${secret}\n`);
		// The client does not retry, because the service runs in this process. If it does not answer, it was
		// stopped.
		const retry = { maxAttempts: 1 };
		const client = createClient({ url: service.url, apiKey, secret, now: clock.nowMs, retry });
		page.shop = { serviceUrl: service.url, client };
		const story = tellStory(
			client,
			shop,
			partners,
			clock,
			(whose) =>
				clickOn(
					whose === "blog" ? `${clickUrl}?s1=newsletter` : `${page.url}/c/${TRACKED_LINK_CODE}?s1=campaign-7`,
				),
			() => retryIsPlanned(store),
			say,
		);
		const isTold = await Promise.race([story.then(() => true), interrupted.then(() => false)]);
		if (isTold && !once) {
			inviteToLook(service, links, clickUrl, say);
			await interrupted;
		}
	} finally {
		await service?.stop();
		page.close();
		await shop.close();
		await partners.close();
		remove();
	}
}

/**
 * Resolves at the first signal. A second signal shortly after it is npm's copy. A later one comes from a
 * person who does not want to wait, and ends the process.
 */
function untilInterrupted(): Promise<void> {
	return new Promise<void>((resolve) => {
		let firstAtMs: number | undefined;
		const take = () => {
			if (firstAtMs !== undefined && performance.now() - firstAtMs >= COPY_WINDOW_MS) process.exit(1);
			firstAtMs ??= performance.now();
			resolve();
		};
		for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, take);
	});
}

async function startDemoService(
	folder: string,
	shopCa: string,
	clickUrl: string,
	clock: ReturnType<typeof createDemoClock>,
): Promise<Service> {
	const read = readConfig({
		DATABASE_URL: `sqlite:${join(folder, "demo.db")}`,
		// Any free port is used, because a real service may use the default one.
		RINGBACK_METRICS_ADDRESS: "127.0.0.1:0",
		LOG_LEVEL: "silent",
	});
	const loopback = parseRange("127.0.0.0/8");
	if (!read.ok || loopback === undefined) throw new Error("the demo's own settings are wrong");
	// The sample shop runs on this machine with a certificate of its own. A private address range and a trusted
	// CA may be set for development only.
	const config = { ...read.config, allowedPrivateRanges: [loopback], trustedCa: shopCa, clickUrl };
	try {
		return await startService(config, { clock });
	} catch (error) {
		if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
		return startService({ ...config, port: 0 }, { clock });
	}
}

async function openSampleProgramme(
	service: Service,
	postbackUrl: string,
): Promise<{
	apiKey: string;
	secret: string;
	partner: Partner;
	programmeId: number;
	ownerLink: string;
	partnerLink: string;
}> {
	must(await changeNetwork(service, COMMAND_LINE, { name: "Sample network" }));
	const { programme } = must(
		await openProgramme(
			service,
			{ kind: "known" },
			{
				name: "Sample shop",
				ownerEmail: null,
				currency: "EUR",
				commissionRate: "10",
				feeRate: "2",
				approvalDays: 30,
				parksPixels: true,
			},
		),
	);
	const issued = must(await issueKey(service, programme.public_id, COMMAND_LINE));
	must(await savePostbackUrl(service, programme.public_id, postbackUrl, COMMAND_LINE));
	const asOwner = { kind: "programme", programme, role: "owner" } as const;
	const { link: ownerLink } = must(await invite(service, COMMAND_LINE, asOwner, "owner@shop.example"));
	const partner = must(await addSamplePartner(service, COMMAND_LINE, programme.id));
	const asPartner = { kind: "partner", partner } as const;
	const { link: partnerLink } = must(await invite(service, COMMAND_LINE, asPartner, "mira@blog.example"));
	await issueSampleStatement(service, partner.id);
	const links = { ownerLink: ownerLink ?? "", partnerLink: partnerLink ?? "" };
	return { apiKey: issued.key, secret: issued.secret ?? "", partner, programmeId: programme.id, ...links };
}

/** Follows the link as a browser does. Returns the click ID that the shop's page received. */
async function clickOn(link: string): Promise<string> {
	const headers = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0" };
	const { url, status } = await fetch(link, { headers });
	const clickId = new URL(url).searchParams.get(CLICK_PARAMETER);
	if (clickId === null) throw new Error(`the link was answered ${status}`);
	return clickId;
}

/**
 * Waits until the failed attempt is stored. The delay of the retry counts from that time, so skipping time
 * earlier would have no effect.
 */
async function retryIsPlanned({ db }: Store): Promise<void> {
	const planned = db.selectFrom("queue").select("id").where("counted", ">", 0);
	while ((await planned.executeTakeFirst()) === undefined) await setTimeout(10);
}

function inviteToLook(
	{ url, metricsUrl, config, welcomeLink }: Service,
	{ ownerLink, partnerLink }: { ownerLink: string; partnerLink: string },
	clickUrl: string,
	say: (line: string) => void,
): void {
	const path = config.database.kind === "sqlite" ? config.database.path : "";
	say("\nThe demo is complete, and its service runs until you press Ctrl-C. Open:");
	say(`  ${clickUrl}   a partner's link: it leads to the shop's page; press Buy, and the sale is credited`);
	say(`  ${ownerLink}   the shop owner's pages: approve the sale under Conversions`);
	say(
		`  ${partnerLink}   in a private window, the partner's pages: earnings, links, callbacks and a statement`,
	);
	say(
		`  ${welcomeLink ?? url}   in another one, the network's staff: "Sample shop" is under Programmes, the partner's statement under Statements`,
	);
	say(`  ${metricsUrl}/metrics   attempts by verdict, deliveries by state`);
	say(`  ${path}   the database (SQLite), removed when you stop`);
}
