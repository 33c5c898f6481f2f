// Shops that lead elsewhere, or ask to be called later: neither is followed.

import { type Attack, answers, type Means } from "./attack.ts";

function leading(status: number, what: string, location: (means: Means) => string): Attack {
	return {
		name: `redirects (${status}) ${what}`,
		onRequest: (socket, means) =>
			socket.write(`HTTP/1.1 ${status} Go\r\nlocation: ${location(means)}\r\ncontent-length: 0\r\n\r\n`),
		expected: answers(status, "redirect"),
	};
}

function wishing(status: number, header: string, expected: Attack["expected"]): Attack {
	return {
		name: `answers ${status} with "${header}"`,
		onRequest: (socket) => socket.write(`HTTP/1.1 ${status} Wait\r\n${header}\r\ncontent-length: 0\r\n\r\n`),
		expected,
	};
}

const inwards = ({ decoyPort }: Means) => `https://127.0.0.1:${decoyPort}/inside`;
const unencrypted = ({ decoyPort }: Means) => `http://127.0.0.1:${decoyPort}/inside`;
const machineData = () => "http://169.254.169.254/latest/meta-data/";
const itself = ({ port }: Means) => `https://127.0.0.1:${port}/postback?shop=1`;

export const STATUS_ATTACKS: readonly Attack[] = [
	leading(301, "inwards", inwards),
	leading(302, "inwards without TLS", unencrypted),
	leading(303, "to the machine's own data", machineData),
	leading(307, "inwards", inwards),
	leading(307, "to itself", itself),
	leading(308, "inwards without TLS", unencrypted),
	{
		name: "answers 201 with a location inwards",
		onRequest: (socket, means) =>
			socket.write(`HTTP/1.1 201 Made\r\nlocation: ${inwards(means)}\r\ncontent-length: 0\r\n\r\n`),
		expected: answers(201, "delivered"),
	},
	{
		name: "answers 200 with a refresh inwards",
		onRequest: (socket, means) =>
			socket.write(`HTTP/1.1 200 OK\r\nrefresh: 0; url=${inwards(means)}\r\ncontent-length: 0\r\n\r\n`),
		expected: answers(200, "delivered"),
	},
	wishing(408, "retry-after: 0", answers(408, "retry")),
	wishing(429, "retry-after: 86400", answers(429, "retry")),
	wishing(503, "retry-after: 1", answers(503, "retry")),
	wishing(401, 'www-authenticate: Basic realm="x"', answers(401, "refused")),
	wishing(407, "proxy-authenticate: Negotiate", answers(407, "refused")),
];
