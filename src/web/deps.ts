// What the pages need from whoever wires them up.

import type { Auth } from "../accounts/auth.ts";
import type { AccountsDeps } from "../accounts/deps.ts";
import type { InstallationWatch } from "../accounts/installation-watch.ts";
import type { MailDispatcher } from "../accounts/mail-dispatcher.ts";
import type { NetworkTallies } from "../conversions/network-tally.ts";
import type { Tallies } from "../conversions/tally.ts";
import type { AddressRange } from "../domain/address.ts";
import type { StaffAuthenticator } from "../domain/authenticator.ts";
import type { OpenApiDocument } from "../openapi.ts";
import type { OwnCommand } from "../own-command.ts";
import type { AddressPolicy, DiskSpace, Log, Mailer, TemporaryFiles, Transport } from "../ports.ts";
import type { KnownNetwork } from "../store/known-network.ts";
import type { LiveStreams } from "./live.ts";
import type { Slots } from "./slots.ts";

export interface WebDeps extends AccountsDeps {
	auth: Auth;
	mails: MailDispatcher;
	/** For a test mail, of which somebody waits to hear; null without SMTP_URL. */
	mailer: Mailer | null;
	log: Log;
	/** What pages are called and look like; its brand names the signature headers: X-<brand>-Signature. */
	network: KnownNetwork;
	/** The address people open, without a slash at its end. */
	publicUrl: string;
	/** Whether somebody has set it, or it is only where the service listens. */
	isPublicUrlSet: boolean;
	/** How the service's own command is started, for whoever sits at its machine: as it is, unless told. */
	ownCommand?: OwnCommand;
	/** The API as /openapi.json describes it now: what the reference is made of. */
	apiDocument: () => OpenApiDocument;
	/** The development setting that lets callbacks go to private addresses is on: every page says so. */
	allowsPrivateRanges: boolean;
	/** Notices how people reach the service, and tells staff what to put right. */
	installation: InstallationWatch;
	/** Whether staff must have an authenticator before they can do anything. */
	staffAuthenticator: StaffAuthenticator;
	/** Whose X-Forwarded-For is believed. */
	trustedProxies: readonly AddressRange[];
	/** Judges a Postback URL as every delivery will. */
	transport: Pick<Transport, "lookUp">;
	addressPolicy: AddressPolicy;
	/** Where uploads go before anything reads them. */
	temporaryFiles: TemporaryFiles;
	/** Told when many decisions wait to be worked on. */
	bulk: { wake(): void };
	/** The same for files to import. */
	imports: { wake(): void };
	/** What this process is, and the room on the disk of the database's file; null where it is on a server. */
	system: { instance: string; version: string; readDisk(): Promise<DiskSpace | null> };
	/** Aborted when the service stops: whoever is only watching is not waited for. */
	stopSignal?: AbortSignal | undefined;
}

/** With what the pages keep between two requests; made once, in site.ts. */
export interface PageDeps extends WebDeps {
	/** Sums of a programme and of the network, counted in the background. */
	tallies: Tallies;
	networkTallies: NetworkTallies;
	streams: LiveStreams;
	/** How many files may be on their way at once. */
	exportSlots: Slots;
}
