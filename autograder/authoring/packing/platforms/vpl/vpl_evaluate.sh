#!/bin/bash
# VPL runs this as the compilation of an evaluation; it leaves vpl_execution, whose output VPL reads.
. vpl_environment.sh
failed() { { echo '#!/bin/bash'; echo "echo 'Comment :=>> The grader itself failed ($1). This is not a grade.'"; } > vpl_execution; chmod +x vpl_execution; exit 0; }

# VPL may send a binary file in base64. The checksum shows that the file is not one that a student handed in.
if [ -f grader.zip.b64 ]; then base64 -i -d grader.zip.b64 > grader.zip; fi
echo "@SHA256@  grader.zip" | sha256sum --check --status || failed "its files are not complete"
rm -rf .grader
# -I: no module that a student handed in is imported.
python3 -I -m zipfile -e grader.zip .grader || failed "it cannot be unpacked"
rm -f grader.zip grader.zip.b64
[ -e .grader/checkpoints ] || ln -s "${CHECKPOINTS:-/opt/autograder/checkpoints}" .grader/checkpoints
cat > vpl_execution <<END
#!/bin/bash
cd .grader || exit 0
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 VPL_GRADEMAX="$VPL_GRADEMAX"
timeout --kill-after=10 @WALL@ python3 -m autograder.platforms vpl settings.json "$PWD" - 2> /dev/null ||
    echo 'Comment :=>> The grader itself failed. This is not a grade.'
exit 0
END
chmod +x vpl_execution
