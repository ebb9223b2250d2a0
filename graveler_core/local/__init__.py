"""Local directories that follow a ref: clone, init, status, pull, commit, checkout. They use the handles of the façade.

A directory contains files of a repository, and `.graveler/local.json`, its *index*: the state of each file when the
directory and the repository last agreed about it. A file is a local change if it differs from the index. A path of the
repository is a remote change if the identity of its entry differs from the index. Everything is decided path by path:

| local change | remote change | pull | commit |
|---|---|---|---|
| no | yes | brings it | leaves it for the next pull |
| yes | no | keeps the file | commits it |
| yes | yes, to the same content | enters it in the index | enters it in the index |
| yes | yes | conflict, nothing is changed | conflict, nothing is changed |

Why an interrupted command loses nothing:

* A file appears by one rename of a complete temporary file. A file is replaced or removed only if it still has the
  size and modification time that it had when it was found unchanged. A new file never replaces another.
* The index is replaced by one rename, after the files. Before the first file changes, the index notes what is underway:
  the commit that is brought, or the key of the commit that is made. The next command finishes the index: a file that
  has the content of that commit is entered. All other files keep their state: a file that was a change is still one.
* One command at a time holds a lock on the directory. The operating system releases it if the process dies.
"""
