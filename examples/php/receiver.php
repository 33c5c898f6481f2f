<?php
// Receives status callbacks. To try it: php -S 127.0.0.1:3000 receiver.php (needs php-sqlite3).
// It keeps postbacks.db in the folder above its own, outside the web root. In production: use your
// own database in place of that file. PHP keeps nothing in memory between requests, so the nonces
// are in the database too.
declare(strict_types=1);

const MAX_BODY_BYTES = 65_536;
const TOLERANCE_SECONDS = 300;

function answer(int $status): never
{
    http_response_code($status);
    exit;
}

$secret = getenv('RINGBACK_SIGNING_SECRET') ?: throw new Exception('Set RINGBACK_SIGNING_SECRET.');
if ($_SERVER['REQUEST_METHOD'] !== 'POST') answer(405);

// The raw bytes: decoded and encoded again, they would have a different hash.
$body = file_get_contents('php://input', length: MAX_BODY_BYTES + 1);
if (strlen($body) > MAX_BODY_BYTES) answer(413);

$timestamp = $_SERVER['HTTP_X_SERVICE_TIMESTAMP'] ?? '';
$nonce = $_SERVER['HTTP_X_SERVICE_NONCE'] ?? '';
$signature = strtolower($_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '');
if ($nonce === '' || !ctype_digit($timestamp)) answer(401);
if (abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) answer(401);

$signed = ['POST', $_SERVER['REQUEST_URI'], $timestamp, $nonce, hash('sha256', $body)];
if (!hash_equals(hash_hmac('sha256', implode("\n", $signed), $secret), $signature)) answer(401);

try {
    $file = dirname(__DIR__) . '/postbacks.db';
    $db = new PDO("sqlite:$file", options: [PDO::ATTR_TIMEOUT => 3]);
    $db->exec('CREATE TABLE IF NOT EXISTS nonces (nonce TEXT PRIMARY KEY, stale_at INTEGER)');
    $db->exec('CREATE TABLE IF NOT EXISTS postbacks (conversion_id TEXT, event TEXT, body TEXT,
        PRIMARY KEY (conversion_id, event))');

    // A nonce is kept for as long as its timestamp would be accepted, but not if storing fails.
    $db->beginTransaction();
    $db->prepare('DELETE FROM nonces WHERE stale_at < ?')->execute([time()]);
    $insert = $db->prepare('INSERT OR IGNORE INTO nonces VALUES (?, ?)');
    $insert->execute([$nonce, (int) $timestamp + TOLERANCE_SECONDS]);
    if ($insert->rowCount() === 0) answer(401);

    $event = json_decode($body, true);
    if (!isset($event['conversionId'], $event['event'])) answer(400);

    // The same event may come twice: the primary key stores it only once.
    $insert = $db->prepare('INSERT OR IGNORE INTO postbacks VALUES (?, ?, ?)');
    $insert->execute([$event['conversionId'], $event['event'], $body]);
    $db->commit();
} catch (PDOException $problem) {
    error_log($problem->getMessage());
    answer(503); // 5xx: it is sent again. A 4xx would end the delivery.
}

http_response_code(204);
// Under FPM the answer is sent here. Elsewhere it is sent when the script ends: put work that takes
// more than a second or two into a queue.
if (function_exists('fastcgi_finish_request')) fastcgi_finish_request();
if ($insert->rowCount() === 1) { // the work
    error_log("{$event['event']} {$event['conversionId']} {$event['orderId']} {$event['status']}");
}
