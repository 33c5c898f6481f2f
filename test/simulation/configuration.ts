// What owners change on the integration page while deliveries are under way: the Postback URL saved, moved and
// removed, the secret replaced step by step. Afterwards the database says what is in force.

import { issueKey } from "../../src/accounts/keys.ts";
import { removePostbackUrl, savePostbackUrl } from "../../src/accounts/postback-url.ts";
import {
	activateSecret,
	discardSecret,
	endReplacedSecrets,
	prepareSecret,
} from "../../src/accounts/signing-secret.ts";
import type { Result } from "../../src/domain/fault.ts";
import { openSecret } from "../../src/domain/sealing.ts";
import type { LookUp } from "../../src/ports.ts";
import { findPreparedSecret } from "../../src/store/signing-secrets.ts";
import { createLog } from "../support/log.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { demand } from "./broken.ts";
import { PRIVATE_ADDRESSES } from "./network.ts";
import type { ServiceProcess } from "./service-process.ts";
import type { ShopAccount } from "./shop-account.ts";
import { answerOrNothing } from "./workload.ts";

export interface ConfigurationSite {
	random: SeededRandom;
	sealingKey: Uint8Array;
	lookUp(host: string): LookUp;
	readAccount(account: ShopAccount): void;
	trace(line: string): void;
}

export interface Configuration {
	/** Saves a URL on one of the shop's hosts. */
	saveUrl(process: ServiceProcess, account: ShopAccount): Promise<void>;
	issueKey(process: ServiceProcess, account: ShopAccount): Promise<void>;
	/** Whatever an owner may think of. */
	changeSomething(process: ServiceProcess, account: ShopAccount): Promise<void>;
}

export function createConfiguration(site: ConfigurationSite): Configuration {
	const { random } = site;
	let nextPath = 1;

	async function saveUrl(process: ServiceProcess, account: ShopAccount): Promise<void> {
		const url = `https://${random.pick(account.hosts)}/postback/${nextPath++}?shop=${account.id}`;
		let answered: LookUp | undefined;
		const transport = {
			lookUp: async (host: string) => {
				answered = site.lookUp(host);
				return answered;
			},
		};
		const result = await answerOrNothing(() =>
			savePostbackUrl(
				{ ...process, transport, addressPolicy: { allowedPrivateRanges: [] }, log: createLog() },
				account.publicId,
				url,
			),
		);
		site.readAccount(account);
		note("save", account, result);
		if (result === null) return;
		const isPublic =
			answered?.ok === true && !answered.addresses.some((one) => PRIVATE_ADDRESSES.includes(one));
		demand(
			result.ok === isPublic,
			"7 no forbidden address",
			() => `saving ${url} gave ${JSON.stringify(result)}`,
		);
		if (result.ok) demandInForce(account, "urls", url);
	}

	async function issue(process: ServiceProcess, account: ShopAccount): Promise<void> {
		const result = await answerOrNothing(() =>
			issueKey({ ...process, sealingKey: site.sealingKey }, account.publicId),
		);
		site.readAccount(account);
		note("issue", account, result);
		if (result?.ok === true && result.value.secret !== null)
			demandInForce(account, "secrets", result.value.secret);
	}

	/** Signs nothing yet: the auditor knows only the active one. */
	async function prepare(process: ServiceProcess, account: ShopAccount): Promise<void> {
		const result = await answerOrNothing(() =>
			prepareSecret({ ...process, sealingKey: site.sealingKey }, account.publicId),
		);
		site.readAccount(account);
		note("prepare", account, result);
	}

	async function activate(process: ServiceProcess, account: ShopAccount): Promise<void> {
		const found = await answerOrNothing(() => findPreparedSecret(process.store.db, account.id));
		if (!found) return prepare(process, account);
		const result = await answerOrNothing(() => activateSecret(process, account.publicId, found.public_id));
		site.readAccount(account);
		note("activate", account, result);
		if (result?.ok === true)
			demandInForce(account, "secrets", openSecret(site.sealingKey, account.id, found.sealed));
	}

	async function discard(process: ServiceProcess, account: ShopAccount): Promise<void> {
		const found = await answerOrNothing(() => findPreparedSecret(process.store.db, account.id));
		if (!found) return;
		const result = await answerOrNothing(() => discardSecret(process, account.publicId, found.public_id));
		note("discard", account, result);
	}

	async function endReplaced(process: ServiceProcess, account: ShopAccount): Promise<void> {
		const result = await answerOrNothing(() => endReplacedSecrets(process, account.publicId));
		note("end", account, result);
	}

	async function remove(process: ServiceProcess, account: ShopAccount): Promise<void> {
		const result = await answerOrNothing(() => removePostbackUrl(process, account.publicId));
		site.readAccount(account);
		note("remove", account, result);
		if (result?.ok === true) demandInForce(account, "urls", null);
	}

	function note(what: string, account: ShopAccount, result: Result<unknown> | null): void {
		site.trace(`${what} ${account.id} ${JSON.stringify(result)}`);
	}

	return {
		saveUrl,
		issueKey: issue,
		changeSomething(process, account) {
			const urls = [saveUrl, saveUrl, saveUrl, remove];
			const secrets = [prepare, activate, activate, endReplaced, discard];
			const change = random.pick([...urls, ...secrets, issue]);
			return change(process, account);
		},
	};
}

function demandInForce(account: ShopAccount, what: "urls" | "secrets", value: string | null): void {
	const found = account[what].at(-1)?.value ?? null;
	demand(
		found === value,
		"1 what was answered is stored",
		() => `${value} was answered, ${found} is in force`,
	);
}
