// Every mail goes out through here: under the network's name, with the lines that say who sends it, and answers go to
// its support address.

import { withSender } from "../domain/mail-text.ts";
import { networkName } from "../domain/network.ts";
import type { Mail, Mailer, MailSender } from "../ports.ts";
import type { KnownNetwork, NetworkFace } from "../store/known-network.ts";

export function createNetworkMailer(
	mailer: Pick<Mailer, "send">,
	network: Pick<KnownNetwork, "read">,
	publicUrl: string,
): Mailer {
	return {
		async send(mail) {
			return mailer.send(addressMail(mail, await network.read(), publicUrl));
		},
	};
}

/** As it is sent: also for whoever wants to see one first. */
export function addressMail(mail: Mail, face: NetworkFace, publicUrl: string): Mail {
	const { supportAddress } = face;
	const from = senderOf(face);
	return {
		...mail,
		text: withSender(mail.text, { name: networkName(face), supportAddress, publicUrl }),
		...(from === null ? {} : { from }),
		...(supportAddress === null ? {} : { replyTo: supportAddress }),
	};
}

/** Null where nothing was chosen: then MAIL_FROM is taken as it is. */
function senderOf({ name, senderName, senderAddress }: NetworkFace): MailSender | null {
	const shown = senderName ?? name;
	return shown === null && senderAddress === null ? null : { name: shown, address: senderAddress };
}
