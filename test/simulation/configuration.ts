// Simulates changes that owners make on the integration page while deliveries are in flight. Owners save, move and
// remove the Postback URL, and replace the secret step by step. After each change, the current values are read from
// the database.

import type { Result } from "#core/domain/fault.ts";
import type { KeyRing } from "#core/domain/key-ring.ts";
import { openSecret } from "#core/domain/sealing.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import type { LookUp } from "#core/ports.ts";
import { issueKey } from "#core/programmes/keys.ts";
import { removePostbackUrl, savePostbackUrl } from "#core/programmes/postback-url.ts";
import {
	activateSecret,
	discardSecret,
	endReplacedSecrets,
	prepareSecret,
} from "#core/programmes/signing-secret.ts";
import { findPreparedSecret } from "#core/store/queries/signing-secrets.ts";
import type { Store } from "#core/store/store.ts";
import { demand } from "../support/broken.ts";
import { createLog } from "../support/log.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { PRIVATE_ADDRESSES } from "./network.ts";
import type { ProgrammeRecord } from "./programme-record.ts";
import type { ServiceProcess } from "./service-process.ts";
import { answerOrNothing } from "./workload.ts";

export interface ConfigurationSite {
	random: SeededRandom;
	keyRing: KeyRing;
	lookUp(host: string): LookUp;
	readProgramme(programme: ProgrammeRecord): void;
	trace(line: string): void;
}

export type Configuration = ReturnType<typeof createConfiguration>;

export function createConfiguration(site: ConfigurationSite) {
	const { random } = site;
	let nextPath = 1;

	async function saveUrl(process: ServiceProcess, programme: ProgrammeRecord): Promise<void> {
		const url = `https://${random.pick(programme.hosts)}/postback/${nextPath++}?shop=${programme.id}`;
		let answered: LookUp | undefined;
		const transport = {
			lookUp: async (host: string) => {
				answered = site.lookUp(host);
				return answered;
			},
		};
		const result = await answerOrNothing(() =>
			savePostbackUrl(
				{
					...process,
					clock: process.clock,
					transport,
					addressPolicy: { allowedPrivateRanges: [] },
					log: createLog(),
				},
				programme.publicId,
				url,
				COMMAND_LINE,
			),
		);
		site.readProgramme(programme);
		note("save", programme, result);
		if (result === null) return;
		const isPublic =
			answered?.ok === true && !answered.addresses.some((one) => PRIVATE_ADDRESSES.includes(one));
		demand(
			result.ok === isPublic,
			"7 no request goes to a forbidden address",
			() => `saving ${url} gave ${JSON.stringify(result)}`,
		);
		if (result.ok) demandInForce(programme, "urls", url);
	}

	async function issue(process: ServiceProcess, programme: ProgrammeRecord): Promise<void> {
		const result = await answerOrNothing(() =>
			issueKey({ ...process, clock: process.clock, keyRing: site.keyRing }, programme.publicId, COMMAND_LINE),
		);
		site.readProgramme(programme);
		note("issue", programme, result);
		if (result?.ok === true && result.value.secret !== null)
			demandInForce(programme, "secrets", result.value.secret);
	}

	/** Prepares a new secret. This secret signs nothing yet, so the auditor still expects the active one. */
	async function prepare(process: ServiceProcess, programme: ProgrammeRecord): Promise<void> {
		const result = await answerOrNothing(() =>
			prepareSecret(
				{ ...process, clock: process.clock, keyRing: site.keyRing },
				programme.publicId,
				COMMAND_LINE,
			),
		);
		site.readProgramme(programme);
		note("prepare", programme, result);
	}

	async function activate(process: ServiceProcess, programme: ProgrammeRecord): Promise<void> {
		const found = await answerOrNothing(() => findPreparedSecret(process.store.db, programme.receiver_id));
		if (!found) return prepare(process, programme);
		const result = await answerOrNothing(() =>
			activateSecret(process, programme.publicId, found.public_id, COMMAND_LINE),
		);
		site.readProgramme(programme);
		note("activate", programme, result);
		if (result?.ok === true)
			demandInForce(programme, "secrets", openSecret(site.keyRing, programme.receiver_id, found.sealed));
	}

	async function discard(process: ServiceProcess, programme: ProgrammeRecord): Promise<void> {
		const found = await answerOrNothing(() => findPreparedSecret(process.store.db, programme.receiver_id));
		if (!found) return;
		const result = await answerOrNothing(() =>
			discardSecret(process, programme.publicId, found.public_id, COMMAND_LINE),
		);
		note("discard", programme, result);
	}

	async function endReplaced(process: ServiceProcess, programme: ProgrammeRecord): Promise<void> {
		const result = await answerOrNothing(() => endReplacedSecrets(process, programme.publicId, COMMAND_LINE));
		note("end", programme, result);
	}

	async function remove(process: ServiceProcess, programme: ProgrammeRecord): Promise<void> {
		// The first commit removes the URL, and later ones cancel the pending deliveries.
		const store: Store = {
			...process.store,
			announceChange(programmeId) {
				site.readProgramme(programme);
				demandInForce(programme, "urls", null);
				process.store.announceChange(programmeId);
			},
		};
		const { clock } = process;
		const result = await answerOrNothing(() =>
			removePostbackUrl({ store, clock }, programme.publicId, COMMAND_LINE),
		);
		site.readProgramme(programme);
		note("remove", programme, result);
	}

	function note(what: string, programme: ProgrammeRecord, result: Result<unknown> | null): void {
		site.trace(`${what} ${programme.id} ${JSON.stringify(result)}`);
	}

	return {
		/** Saves a Postback URL on one of the shop's hosts. */
		saveUrl,
		issueKey: issue,
		/** Makes one random change. */
		changeSomething(process: ServiceProcess, programme: ProgrammeRecord) {
			const urls = [saveUrl, saveUrl, saveUrl, remove];
			const secrets = [prepare, activate, activate, endReplaced, discard];
			const change = random.pick([...urls, ...secrets, issue]);
			return change(process, programme);
		},
	};
}

function demandInForce(programme: ProgrammeRecord, what: "urls" | "secrets", value: string | null): void {
	const found = programme[what].at(-1)?.value ?? null;
	demand(
		found === value,
		"1 an answered change is stored",
		() => `${value} was answered, ${found} is in force`,
	);
}
